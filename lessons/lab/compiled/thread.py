"""What every rewritten function is told about the thread that runs it.

A tuple of Numba's: threadIdx, blockIdx, blockDim and gridDim, three numbers each; then the
addresses of what the thread shares with others, and the size of dynamic shared memory.
"""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import inspect
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

POSITIONS = {
    f"{name}.{axis}": 3 * group + number
    for group, name in enumerate(("threadIdx", "blockIdx", "blockDim", "gridDim"))
    for number, axis in enumerate("xyz")
}
NOTES, SHARED, LOCAL, WARP, DYNAMIC_BYTES = range(12, 17)
THREAD = types.Tuple((types.int32,) * 12 + (types.voidptr,) * 4 + (types.int64,))

# The words at NOTES, int64. An index outside its array: site + 1, axis, index, length, then thread
# and block, three numbers each. STOP: the host wants an end. ENDED: `raise` ended this thread.
# STACK: an address near the bottom of the stack. SPINS: how often in turn all threads that run have
# only waited for memory to change, and SPIN_SITE: in which loop.
STOP, ENDED, STACK, SPINS, SPIN_SITE = 10, 11, 12, 13, 14
NOTE_WORDS = 16
STACK_LIMIT = 1 << 18  # bytes: half of the smallest stack that systems give

i32, i64 = ir.IntType(32), ir.IntType(64)


@intrinsic
def thread_of(typing_context, number, block, block_size, grid_size, memory):
    """The tuple of thread `number` of block `block`.

    memory: addresses of notes, shared, local and warp memory, bytes of local memory per thread,
    bytes of dynamic shared memory.
    """

    def generate(context, builder, signature_, arguments):
        number, block = (builder.trunc(value, i32) for value in arguments[:2])
        sizes, blocks, memory = (cgutils.unpack_tuple(builder, value) for value in arguments[2:])
        block_dim = [builder.trunc(size, i32) for size in sizes]
        grid_dim = [builder.trunc(size, i32) for size in blocks]
        notes, shared, local, warp, local_bytes, dynamic_bytes = memory
        local = builder.add(local, builder.mul(arguments[0], local_bytes))
        addresses = [
            builder.inttoptr(address, cgutils.voidptr_t) for address in (notes, shared, local, warp)
        ]
        values = [
            *unravel(builder, number, block_dim),
            *unravel(builder, block, grid_dim),
            *block_dim,
            *grid_dim,
            *addresses,
            dynamic_bytes,
        ]
        return context.make_tuple(builder, THREAD, values)

    return signature(THREAD, number, block, block_size, grid_size, memory), generate


def returning(kind):
    """Makes an intrinsic of a function that writes its code: (context, builder, arguments ...).

    kind: Numba's type of what it returns; `types.none` where the function returns nothing.
    """

    def decorate(write):
        def define(typing_context, *kinds):
            def generate(context, builder, signature_, arguments):
                value = write(context, builder, *arguments)
                return context.get_dummy_value() if value is None else value

            return signature(kind, *kinds), generate

        # Numba asks for the names of the arguments, behind the first.
        written = inspect.signature(write)
        define.__signature__ = written.replace(parameters=[*written.parameters.values()][1:])
        define.__name__ = write.__name__
        return intrinsic(define)

    return decorate


def unravel(builder, number, sizes):
    """(x, y, z) of a number in a block or grid; x runs fastest."""
    columns, rows, _ = sizes
    rest = builder.udiv(number, columns)
    return builder.urem(number, columns), builder.urem(rest, rows), builder.udiv(rest, rows)


def position(builder, thread, path):
    """A number such as "threadIdx.x" of a thread, as int64."""
    return builder.sext(builder.extract_value(thread, POSITIONS[path]), i64)


def number_in_block(builder, thread):
    x, y, z = (position(builder, thread, f"threadIdx.{axis}") for axis in "xyz")
    columns, rows = (position(builder, thread, f"blockDim.{axis}") for axis in "xy")
    return builder.add(x, builder.mul(columns, builder.add(y, builder.mul(rows, z))))


def words(builder, thread, which):
    """NOTES or WARP memory, as a pointer to int64."""
    return builder.bitcast(builder.extract_value(thread, which), i64.as_pointer())


def word(builder, thread, number):
    """Pointer to a word of NOTES."""
    return builder.gep(words(builder, thread, NOTES), [i64(number)])


# ---------------------------------------------------------------- positions


def positions_along(axes, of_one_axis):
    """An intrinsic from a thread to one number, or a tuple of two or three."""
    kind = types.int64 if axes == 1 else types.UniTuple(types.int64, axes)

    @returning(kind)
    def positions(context, builder, thread):
        found = [of_one_axis(builder, thread, axis) for axis in "xyz"[:axes]]
        return found[0] if axes == 1 else context.make_tuple(builder, kind, found)

    return positions


def grid_along(builder, thread, axis):
    first = builder.mul(
        position(builder, thread, f"blockIdx.{axis}"), position(builder, thread, f"blockDim.{axis}")
    )
    return builder.add(first, position(builder, thread, f"threadIdx.{axis}"))


def gridsize_along(builder, thread, axis):
    return builder.mul(
        position(builder, thread, f"gridDim.{axis}"), position(builder, thread, f"blockDim.{axis}")
    )


def lane_of(builder, thread):
    return builder.trunc(builder.and_(number_in_block(builder, thread), i64(31)), i32)


@returning(types.int32)
def lane(context, builder, thread):
    return lane_of(builder, thread)


class Dim3(NamedTuple):
    """`cuda.threadIdx` and its like, where they are passed on as a whole."""

    x: int
    y: int
    z: int


@intrinsic(prefer_literal=True)
def dim3(typing_context, thread, first):
    """Three numbers of a thread. first: where they begin."""
    kind = types.NamedUniTuple(types.int32, 3, Dim3)
    start = first.literal_value

    def generate(context, builder, signature_, arguments):
        values = [builder.extract_value(arguments[0], start + k) for k in range(3)]
        return context.make_tuple(builder, kind, values)

    return signature(kind, thread, first), generate


# ---------------------------------------------------------------- ends


@returning(types.none)
def poll(context, builder, thread):
    """In a loop: end the thread where the host wants an end."""
    stop = builder.load_atomic(word(builder, thread, STOP), "monotonic", align=8)
    with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, stop)):
        context.call_conv.return_user_exc(builder, KeyboardInterrupt, ())


@intrinsic
def mark_stack(typing_context, notes):
    """Note where the stack begins, as far as kernels are concerned."""

    def generate(context, builder, signature_, arguments):
        array = context.make_array(notes)(context, builder, arguments[0])
        builder.store(stack_address(builder), builder.gep(array.data, [i64(STACK)]))
        return context.get_dummy_value()

    return signature(types.none, notes), generate


@returning(types.none)
def check_stack(context, builder, thread):
    """In a function that calls itself: raise `RecursionError` where it has done so too often."""
    used = builder.sub(builder.load(word(builder, thread, STACK)), stack_address(builder))
    used = builder.add(used, i64(STACK_LIMIT))
    with cgutils.if_unlikely(builder, builder.icmp_unsigned(">", used, i64(2 * STACK_LIMIT))):
        context.call_conv.return_user_exc(builder, RecursionError, ())


def stack_address(builder):
    return builder.ptrtoint(builder.alloca(i64), i64)


@returning(types.none)
def end_thread(context, builder, thread):
    """Note that the exception that follows ends this thread, and no other."""
    builder.store(i64(1), word(builder, thread, ENDED))


@returning(types.none)
def spin(context, builder, thread, site):
    """Note in which loop a thread waits for memory to change."""
    builder.store(site, word(builder, thread, SPIN_SITE))


OTHERS: tuple[Any, ...] = (lane, dim3, poll, spin, end_thread, check_stack)
NAMES = {
    **{function.__name__: function for function in OTHERS},
    **{f"grid{axes}": positions_along(axes, grid_along) for axes in (1, 2, 3)},
    **{f"gridsize{axes}": positions_along(axes, gridsize_along) for axes in (1, 2, 3)},
}
