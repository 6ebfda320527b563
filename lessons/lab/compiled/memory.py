"""Shared and local arrays: views of memory that the launch provides, at places known beforehand."""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

from ..numba_types import dtype_of_type
from .found_again import AGAIN
from .thread import DYNAMIC_BYTES, LOCAL, SHARED, i64, returning

ALIGNMENT = 64  # bytes
LARGEST_ELEMENT = 16  # bytes, where the type of an element is known only later
GARBAGE = 255  # of each byte: NaN as a float, and -1
SHARED_LIMIT = 48 * 1024  # bytes per block, of arrays with a size
DYNAMIC_LIMIT = 227 * 1024  # bytes per block, of a launch on the largest GPUs
LOCAL_LIMIT = 512 * 1024  # bytes per thread
STACK_ARRAY_LIMIT = 4 * 1024  # bytes of an array that may lie on the stack


class Layout:
    """Where in shared and local memory the arrays of a kernel lie."""

    def __init__(self) -> None:
        self.bytes = {SHARED: 0, LOCAL: 0}
        self.known_bytes = {SHARED: 0, LOCAL: 0}  # without those whose type is known only later

    def place(self, space: int, elements: int, itemsize: int | None) -> int:
        """Offset of a new array. itemsize: in bytes, or None."""
        offset = self.bytes[space]
        length = elements * (itemsize or LARGEST_ELEMENT)
        self.bytes[space] = -(-(offset + length) // ALIGNMENT) * ALIGNMENT
        self.known_bytes[space] += elements * (itemsize or 1)
        return offset


def element_type(kind: object) -> types.Type | None:
    """Numba type of what an array is said to hold; None for what stands for no type."""
    if isinstance(kind, types.NumberClass):
        return kind.instance_type
    if isinstance(kind, types.Type):
        return kind
    dtype = dtype_of_type(kind)
    return None if dtype is None else from_dtype(dtype)


def array_maker(
    layout: Layout,
    space: int,
    shape: tuple[int, ...],
    element: types.Type | None,
    short_lived: bool = False,
) -> Callable[..., Any]:
    """An intrinsic that returns an array: of a thread, or of a thread and a type.

    shape: (0,) for dynamic shared memory. element: None if the type is passed. short_lived: nobody
    needs the array once its function has returned, and that never waits. On the stack no other
    pointer leads to it, so the compiler may keep it in registers.
    """
    count = math.prod(shape)
    dynamic = count == 0
    on_stack = short_lived and count * LARGEST_ELEMENT <= STACK_ARRAY_LIMIT
    offset = 0
    if not dynamic and not on_stack:
        offset = layout.place(space, count, None if element is None else bytes_of(element))

    def make(element, *argument_types, fill=space == LOCAL):
        kind = types.Array(element, len(shape), "C")

        def generate(context, builder, signature_, arguments):
            thread = arguments[0]
            itemsize = bytes_of(element)
            if dynamic:
                start = i64(layout.bytes[SHARED])  # behind all others, for every dynamic array
                bytes_ = builder.extract_value(thread, DYNAMIC_BYTES)
                sizes = [builder.udiv(bytes_, i64(itemsize))]
            else:
                start, sizes = i64(offset), [i64(size) for size in shape]
            if on_stack:
                address = stack_memory(builder, count * itemsize)
            else:
                address = builder.gep(builder.extract_value(thread, space), [start])
            if fill:
                garbage = ir.Constant(ir.IntType(8), GARBAGE)
                cgutils.memset(builder, address, i64(count * itemsize), garbage)
            strides = [i64(itemsize)]
            for size in sizes[:0:-1]:
                strides.insert(0, builder.mul(strides[0], size))
            array = make_array(kind)(context, builder)
            data = builder.bitcast(address, context.get_data_type(element).as_pointer())
            populate_array(
                array, data=data, shape=sizes, strides=strides, itemsize=i64(itemsize), meminfo=None
            )
            return array._getvalue()

        return signature(kind, *argument_types), generate

    if element is not None:

        @intrinsic
        def of_known_type(typing_context, thread):
            return make(element, thread)

        @intrinsic
        def of_known_type_again(typing_context, thread):
            return make(element, thread, fill=False)

        setattr(of_known_type, AGAIN, of_known_type_again)
        return of_known_type

    @intrinsic
    def of_passed_type(typing_context, thread, kind):
        found = kind.dtype if isinstance(kind, (types.DType, types.NumberClass)) else None
        if found is None:
            raise TypingError(f"an array of type {kind}")
        return make(found, thread, kind)

    return of_passed_type


def stack_memory(builder, size):
    """The address of `size` bytes in the frame of the function that is being compiled."""
    kind = ir.ArrayType(ir.IntType(8), size)
    memory = cgutils.alloca_once(builder, kind)
    memory.align = ALIGNMENT
    return builder.bitcast(memory, cgutils.voidptr_t)


def outside_array(array: np.ndarray) -> Callable[..., Any]:
    """An intrinsic that returns an array of a GPU that a kernel knows by a name from outside."""
    kind = types.Array(from_dtype(array.dtype), array.ndim, layout_of(array))

    @returning(kind)
    def outside(context, builder):
        found = make_array(kind)(context, builder)
        element = context.get_data_type(kind.dtype).as_pointer()
        populate_array(
            found,
            data=builder.inttoptr(i64(array.ctypes.data), element),
            shape=[i64(size) for size in array.shape],
            strides=[i64(stride) for stride in array.strides],
            itemsize=i64(array.itemsize),
            meminfo=None,
        )
        return found._getvalue()

    return outside


def layout_of(array: np.ndarray) -> Any:
    if array.flags.c_contiguous:
        return "C"
    return "F" if array.flags.f_contiguous else "A"


def bytes_of(element: types.Type) -> int:
    from numba.core.registry import cpu_target

    context = cpu_target.target_context
    return context.get_abi_sizeof(context.get_data_type(element))
