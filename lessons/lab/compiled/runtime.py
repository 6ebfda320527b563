"""What rewritten kernels call: positions, checked indices, real atomics."""

# Numba compiles these functions, or calls them while it compiles: their types are Numba's.
# mypy: allow-untyped-defs

import numpy as np
from llvmlite import ir
from numba import int32, int64, uint64
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic, overload, register_jitable
from numba.np.arrayobj import make_array

# Noted about an index outside its array: site + 1, axis, index, length, thread xyz, block xyz.
ERROR_WORDS = 10


# ---------------------------------------------------------------- positions


@register_jitable
def position_of(thread, block, block_size, grid_size):
    """(threadIdx, blockIdx, blockDim, gridDim), three numbers each, as one tuple of int32.

    thread, block: the number of the thread in its block, and of the block in the grid.
    """
    columns, rows, _ = block_size
    grid_columns, grid_rows, _ = grid_size
    return (
        int32(thread % columns),
        int32(thread // columns % rows),
        int32(thread // (columns * rows)),
        int32(block % grid_columns),
        int32(block // grid_columns % grid_rows),
        int32(block // (grid_columns * grid_rows)),
        int32(block_size[0]),
        int32(block_size[1]),
        int32(block_size[2]),
        int32(grid_size[0]),
        int32(grid_size[1]),
        int32(grid_size[2]),
    )


# The functions below take what `position_of` returns.


@register_jitable
def grid1(position):
    return int64(position[3]) * int64(position[6]) + int64(position[0])


@register_jitable
def grid2(position):
    return grid1(position), int64(position[4]) * int64(position[7]) + int64(position[1])


@register_jitable
def grid3(position):
    return *grid2(position), int64(position[5]) * int64(position[8]) + int64(position[2])


@register_jitable
def gridsize1(position):
    return int64(position[9]) * int64(position[6])


@register_jitable
def gridsize2(position):
    return gridsize1(position), int64(position[10]) * int64(position[7])


@register_jitable
def gridsize3(position):
    return *gridsize2(position), int64(position[11]) * int64(position[8])


@register_jitable
def lane(position):
    columns, rows = int64(position[6]), int64(position[7])
    return int32((position[0] + columns * (position[1] + rows * position[2])) % 32)


# ---------------------------------------------------------------- arrays of a block

GARBAGE = 85  # in whole numbers; floats get NaN: garbage that is hard to overlook


@register_jitable
def shared_array(threads, shape, dtype):
    """One for all threads of a block."""
    return np.empty(shape, dtype)


@register_jitable
def local_array(threads, shape, dtype):
    """One for each thread of a block."""
    array = np.empty((threads, *shape), dtype)
    spoil(array)
    return array


def spoil(array):
    """Fill with what memory might hold before anyone has written to it. Compiled code only."""


@overload(spoil)
def overload_spoil(array):
    value = np.nan if isinstance(array.dtype, types.Float) else GARBAGE

    def fill(array):
        array[:] = value

    return fill


# ---------------------------------------------------------------- checked indices


def inside(array, index, site, position, error):
    """`index`, if it lies within `array`; else note what happened in `error`, raise `IndexError`.

    site: number of the place in the source. error: (ERROR_WORDS,) int64. Compiled code only.
    """


@register_jitable
def note_outside(site, axis, index, length, position, error):
    error[0], error[1], error[2], error[3] = site + 1, axis, index, length
    for k in range(6):
        error[4 + k] = position[k]


# The checks return unsigned numbers: for a signed index Numba would add Python's counting from the
# end, which a checked index never needs, and which keeps loops from being simplified.


@overload(inside, inline="never")
def overload_inside(array, index, site, position, error):
    if not isinstance(array, types.Array):
        return lambda array, index, site, position, error: index
    if isinstance(index, types.Integer):
        return check_one
    if not isinstance(index, types.BaseTuple) or len(index) > len(CHECKS):
        return lambda array, index, site, position, error: index
    return CHECKS[len(index) - 1]


def check_one(array, index, site, position, error):
    if index < 0 or index >= array.shape[0]:
        note_outside(site, 0, index, array.shape[0], position, error)
        raise IndexError
    return uint64(index)


def check_row(array, index, site, position, error):
    (i,) = index
    if i < 0 or i >= array.shape[0]:
        note_outside(site, 0, i, array.shape[0], position, error)
        raise IndexError
    return (uint64(i),)


def check_two(array, index, site, position, error):
    i, j = index
    if i < 0 or i >= array.shape[0]:
        note_outside(site, 0, i, array.shape[0], position, error)
        raise IndexError
    if j < 0 or j >= array.shape[1]:
        note_outside(site, 1, j, array.shape[1], position, error)
        raise IndexError
    return uint64(i), uint64(j)


def check_three(array, index, site, position, error):
    i, j, k = index
    if i < 0 or i >= array.shape[0]:
        note_outside(site, 0, i, array.shape[0], position, error)
        raise IndexError
    if j < 0 or j >= array.shape[1]:
        note_outside(site, 1, j, array.shape[1], position, error)
        raise IndexError
    if k < 0 or k >= array.shape[2]:
        note_outside(site, 2, k, array.shape[2], position, error)
        raise IndexError
    return uint64(i), uint64(j), uint64(k)


def check_four(array, index, site, position, error):
    i, j, k, m = index
    if i < 0 or i >= array.shape[0]:
        note_outside(site, 0, i, array.shape[0], position, error)
        raise IndexError
    if j < 0 or j >= array.shape[1]:
        note_outside(site, 1, j, array.shape[1], position, error)
        raise IndexError
    if k < 0 or k >= array.shape[2]:
        note_outside(site, 2, k, array.shape[2], position, error)
        raise IndexError
    if m < 0 or m >= array.shape[3]:
        note_outside(site, 3, m, array.shape[3], position, error)
        raise IndexError
    return uint64(i), uint64(j), uint64(k), uint64(m)


CHECKS = (check_row, check_two, check_three, check_four)


# ---------------------------------------------------------------- atomics


def element_pointer(context, builder, signature_, arguments):
    """Address of the element that an atomic's (array, index, ...) names."""
    array_type, index_type = signature_.args[:2]
    array = make_array(array_type)(context, builder, arguments[0])
    if isinstance(index_type, types.BaseTuple):
        indices = cgutils.unpack_tuple(builder, arguments[1], len(index_type))
        index_types = list(index_type)
    else:
        indices, index_types = [arguments[1]], [index_type]
    indices = [
        context.cast(builder, index, kind, types.intp)
        for index, kind in zip(indices, index_types, strict=True)
    ]
    return cgutils.get_item_pointer(context, builder, array_type, array, indices, wraparound=False)


def read_modify_write(float_operation, signed_operation, unsigned_operation):
    """An atomic that LLVM has an instruction for. Returns the old value."""

    @intrinsic
    def change(typing_context, array, index, value):
        element = array.dtype

        def generate(context, builder, signature_, arguments):
            pointer = element_pointer(context, builder, signature_, arguments)
            new = context.cast(builder, arguments[2], signature_.args[2], element)
            operation = unsigned_operation
            if isinstance(element, types.Float):
                operation = float_operation
            elif element.signed:
                operation = signed_operation
            return builder.atomic_rmw(operation, pointer, new, "seq_cst")

        return signature(element, array, index, value), generate

    return change


@intrinsic
def compare_and_swap(typing_context, array, index, expected, value):
    element = array.dtype

    def generate(context, builder, signature_, arguments):
        pointer = element_pointer(context, builder, signature_, arguments)
        old = context.cast(builder, arguments[2], signature_.args[2], element)
        new = context.cast(builder, arguments[3], signature_.args[3], element)
        if isinstance(element, types.Float):
            # Floats are compared as bits, as on a GPU.
            bits = ir.IntType(element.bitwidth)
            pointer = builder.bitcast(pointer, bits.as_pointer())
            old, new = builder.bitcast(old, bits), builder.bitcast(new, bits)
        result = builder.cmpxchg(pointer, old, new, "seq_cst", "seq_cst")
        found = builder.extract_value(result, 0)
        if isinstance(element, types.Float):
            found = builder.bitcast(found, context.get_value_type(element))
        return found

    return signature(element, array, index, expected, value), generate


ATOMICS = {
    "add": read_modify_write("fadd", "add", "add"),
    "sub": read_modify_write("fsub", "sub", "sub"),
    "max": read_modify_write("fmax", "max", "umax"),
    "min": read_modify_write("fmin", "min", "umin"),
    "exch": read_modify_write("xchg", "xchg", "xchg"),
    "and_": read_modify_write("and", "and", "and"),
    "or_": read_modify_write("or", "or", "or"),
    "xor": read_modify_write("xor", "xor", "xor"),
    "inc": read_modify_write("uinc_wrap", "uinc_wrap", "uinc_wrap"),
    "dec": read_modify_write("udec_wrap", "udec_wrap", "udec_wrap"),
    "cas": compare_and_swap,
}


@register_jitable
def empty(shape, dtype):
    return np.empty(shape, dtype)


NAMES = {
    "_inside": inside,
    "_lane": lane,
    "_empty": empty,
    "_grid1": grid1,
    "_grid2": grid2,
    "_grid3": grid3,
    "_gridsize1": gridsize1,
    "_gridsize2": gridsize2,
    "_gridsize3": gridsize3,
    **{f"_atomic_{operation}": change for operation, change in ATOMICS.items()},
}
