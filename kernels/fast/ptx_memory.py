"""Raw GPU instructions that move numbers to and from memory, and that wait.

Four floats go at a time; blocks, and parts of a block, wait for each other. How instructions and
their emulations are made: `ptx`.

Source: NVIDIA, "Parallel Thread Execution ISA", sections on ld, st, red and bar.
"""

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature

from kernels.fast import ptx_numpy
from kernels.fast.ptx import FLOAT, WORD, as_tuple, emit, emulated_by

ADDRESS = ir.IntType(64)


# ---------------------------------------------------------------- four floats at a time


def pointer_to_four(context, builder, array_type, array, row):
    """Pointer to the four floats of a row of a C-contiguous array (rows, 4)."""
    made = context.make_array(array_type)(context, builder, array)
    first = builder.shl(row, ADDRESS(2))
    vector = builder.gep(made.data, [first])
    return builder.bitcast(vector, ir.VectorType(FLOAT, 4).as_pointer())


def index_types(array):
    """(type of the array, type of its row number); raises TypeError for other arrays."""
    if array.ndim != 2 or array.dtype != types.float32 or array.layout != "C":
        raise TypeError("four floats at a time need a C-contiguous float32 array (rows, 4)")
    return array, types.int64


LOAD_FOUR = "ld.global.v4.f32 {$0, $1, $2, $3}, [$4];"
STORE_FOUR = "st.global.v4.f32 [$0], {$1, $2, $3, $4};"
ADD_FOUR = "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};"


@emulated_by(ptx_numpy.load_four, LOAD_FOUR)
def load_four(context, array, row):
    """The four floats of array[row], as one load of 16 bytes.

    Volatile, so that the load is issued here: the compiler would otherwise move it down to its
    first use, and the thread would wait there.
    """
    kind = types.UniTuple(types.float32, 4)
    argument_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = pointer_to_four(context, builder, array, *arguments)
        address = builder.ptrtoint(pointer, ADDRESS)
        registers = "=f,=f,=f,=f,l,~{memory}"
        struct = emit(builder, LOAD_FOUR, registers, [FLOAT] * 4, [address], True)
        return as_tuple(context, builder, kind, struct)

    return signature(kind, *argument_types), generate


@emulated_by(ptx_numpy.store_four, STORE_FOUR)
def store_four(context, array, row, x, y, z, w):
    """array[row] = x, y, z, w, as one store of 16 bytes."""
    argument_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = pointer_to_four(context, builder, array, *arguments[:2])
        four = ir.Constant(ir.VectorType(FLOAT, 4), ir.Undefined)
        for i, value in enumerate(arguments[2:]):
            four = builder.insert_element(four, value, WORD(i))
        builder.store(four, pointer, align=16)
        return context.get_dummy_value()

    return signature(types.none, *argument_types, *[types.float32] * 4), generate


@emulated_by(ptx_numpy.add_four, ADD_FOUR)
def add_four(context, array, row, x, y, z, w):
    """Atomically add x, y, z, w to array[row]; needs compute capability 9.0."""
    argument_types = index_types(array)

    def generate(context, builder, signature_, arguments):
        pointer = pointer_to_four(context, builder, array, *arguments[:2])
        address = builder.ptrtoint(pointer, ADDRESS)
        emit(builder, ADD_FOUR, "l,f,f,f,f,~{memory}", [], [address, *arguments[2:]], True)
        return context.get_dummy_value()

    return signature(types.none, *argument_types, *[types.float32] * 4), generate


# ---------------------------------------------------------------- waiting for other blocks


def address_of(context, builder, array_type, array):
    """Address of the first element of an array."""
    made = context.make_array(array_type)(context, builder, array)
    return builder.ptrtoint(made.data, ADDRESS)


ARRIVE = "red.release.gpu.global.add.u32 [$0], 1;"
ARRIVED = "ld.acquire.gpu.global.u32 $0, [$1];"


@emulated_by(ptx_numpy.arrive, ARRIVE)
def arrive(context, counter):
    """Add 1 to counter[0] (uint32); whoever sees it also sees all that was written before.

    Blocks that wait for each other must all be on the GPU at once. So a kernel that calls this is
    launched *cooperatively*: the launch fails if they do not fit.
    """

    def generate(context, builder, signature_, arguments):
        context.active_code_library.use_cooperative = True
        address = address_of(context, builder, counter, arguments[0])
        emit(builder, ARRIVE, "l,~{memory}", [], [address], True)
        return context.get_dummy_value()

    return signature(types.none, counter), generate


@emulated_by(ptx_numpy.arrived, ARRIVED)
def arrived(context, counter):
    """Read counter[0] (uint32); what was written before an `arrive` seen here can be read now."""

    def generate(context, builder, signature_, arguments):
        address = address_of(context, builder, counter, arguments[0])
        return emit(builder, ARRIVED, "=r,l,~{memory}", [WORD], [address], True)

    return signature(types.uint32, counter), generate


# ---------------------------------------------------------------- waiting within a block


def barrier_of_some(text):
    """Typing of an instruction (number of a barrier, threads it is for)."""

    def typing(context, barrier, threads):
        def generate(context, builder, signature_, arguments):
            emit(builder, text, "r,r,~{memory}", [], arguments, True)
            return context.get_dummy_value()

        return signature(types.none, types.int32, types.int32), generate

    typing.text = text
    return typing


# `syncthreads` is barrier 0. At the others some threads may pass without waiting, and leave word
# that what they have written can be read; the rest wait for them.
pass_barrier = emulated_by(ptx_numpy.at_barrier)(barrier_of_some("bar.arrive $0, $1;"))
wait_at_named_barrier = emulated_by(ptx_numpy.at_barrier)(barrier_of_some("bar.sync $0, $1;"))
