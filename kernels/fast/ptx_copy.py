"""Copies from global to shared memory that are under way while the thread computes.

The idea: an ordinary copy goes through a register, and whoever stores that register waits until the
number is there. These instructions name both places, and nobody waits before `wait_for_copies`. How
instructions and their emulations are made: `ptx`.

Source: NVIDIA, "Parallel Thread Execution ISA", section on cp.async.
"""

from numba.core import types
from numba.core.typing.templates import signature

from kernels.fast import ptx_numpy
from kernels.fast.ptx import WORD, emit, emulated_by
from kernels.fast.ptx_memory import ADDRESS


@emulated_by(ptx_numpy.begin_copy)
def begin_copy(context, tile, tile_row, tile_column, matrix, row, column, inside):
    """Begin to copy four words from a matrix into shared memory, without waiting for them.

    Both arrays are two-dimensional, of uint32. The length of their rows, and the columns named
    here, are multiples of four words. Where `inside` is 0, four zeros are stored. Nobody may read
    them before `wait_for_copies` and a barrier. Needs compute capability 8.0.
    """
    text = "{.reg .u64 s; cvta.to.shared.u64 s, $0; cp.async.cg.shared.global [s], [$1], 16, $2;}"

    def generate(context, builder, signature_, arguments):
        to = address_in(context, builder, tile, *arguments[:3])
        source = address_in(context, builder, matrix, *arguments[3:6])
        size = builder.shl(arguments[6], WORD(4))  # bytes that are read; the others become zeros
        emit(builder, text, "l,l,r,~{memory}", [], [to, source, size], True)
        return context.get_dummy_value()

    index = types.int64
    return signature(types.none, tile, index, index, matrix, index, index, types.int32), generate


def address_in(context, builder, array_type, array, row, column):
    """Address of array[row, column], of four-byte elements in rows of one length."""
    made = context.make_array(array_type)(context, builder, array)
    width = builder.extract_value(made.shape, 1)
    place = builder.add(builder.mul(row, width), column)
    return builder.ptrtoint(builder.gep(made.data, [place]), ADDRESS)


@emulated_by(ptx_numpy.wait_for_copies)
def wait_for_copies(context):
    """Wait for all copies that this thread has begun."""

    def generate(context, builder, signature_, arguments):
        emit(builder, "cp.async.wait_all;", "~{memory}", [], [], True)
        return context.get_dummy_value()

    return signature(types.none), generate
