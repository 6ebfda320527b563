"""Shared, local and constant arrays, and atomics."""

import ast

import numpy as np

from ...dimensions import MAX_SHARED_BYTES
from ...numba_types import Number, dtype_of_type, is_number
from ..context import Context
from ..memory.arrays import ArrayView, DynamicShared, Memory, row_major_strides
from ..memory.checker import Operation, Swap, atomic_add
from ..stops import Stop, Unsupported
from ..values import Call

SHARED_ALIGNMENT = 16  # bytes


def shared_array(context: Context, call: Call) -> ArrayView:
    node, (shape, dtype) = call.node, shape_and_dtype(call)
    launch = context.launch
    if node not in launch.shared:
        new = new_dynamic_memory if shape == (0,) else new_shared_memory
        launch.shared[node] = new(context, node, shape, dtype)
        warn_of_double(context, node, dtype)
    memory = launch.shared[node]
    offset = context.team.block_number.astype(np.int64) * memory.instance
    return ArrayView(memory, offset, memory.shape, row_major_strides(memory.shape))


def new_shared_memory(
    context: Context, node: ast.Call, shape: tuple[int, ...], dtype: np.dtype
) -> Memory:
    """Memory for one array per block. Raises `Stop` if a block has not so much."""
    launch, size = context.launch, int(np.prod(shape))
    dynamic_bytes = launch.options.dynamic_shared
    address = -(-launch.shared_bytes // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
    launch.shared_bytes = address + size * dtype.itemsize
    needed = launch.shared_bytes + dynamic_bytes
    if needed > MAX_SHARED_BYTES:
        dynamic = f", {dynamic_bytes:,} of them dynamic" if dynamic_bytes else ""
        context.reporter.add(
            "limits",
            node,
            f"the shared arrays of a block need {needed:,} bytes{dynamic}; a block has "
            f"{MAX_SHARED_BYTES:,}: use smaller tiles",
        )
        raise Stop
    data = np.zeros(size * launch.blocks, dtype)
    return Memory(name_of_array(context, node), "shared", data, size, shape, address)


def new_dynamic_memory(
    context: Context, node: ast.Call, shape: tuple[int, ...], dtype: np.dtype
) -> Memory:
    """An array of size 0: all of dynamic shared memory, like every other array of size 0."""
    launch = context.launch
    if launch.dynamic is None:
        size = -(-launch.options.dynamic_shared // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
        launch.dynamic = DynamicShared(size, launch.blocks)
    length = launch.options.dynamic_shared // dtype.itemsize
    name = name_of_array(context, node)
    return launch.dynamic.array(name, dtype, length, context.stack.source.function)


def local_array(context: Context, call: Call) -> ArrayView:
    node, (shape, dtype) = call.node, shape_and_dtype(call)
    team, size = context.team, int(np.prod(shape))
    if node not in team.local:
        data = np.zeros(size * team.size, dtype)
        team.local[node] = Memory(name_of_array(context, node), "local", data, size, shape)
        warn_of_double(context, node, dtype)
    offset = np.arange(team.size, dtype=np.int64) * size
    return ArrayView(team.local[node], offset, shape, row_major_strides(shape))


def constant_array(context: Context, call: Call) -> ArrayView:
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], ArrayView):
        text = "cuda.const.array_like needs an array defined outside the kernel"
        raise Unsupported(call.node, text)
    return call.arguments[0]


def shape_and_dtype(call: Call) -> tuple[tuple[int, ...], np.dtype]:
    node, arguments = call.node, call.arguments
    if len(arguments) < 2:
        raise Unsupported(node, "an array needs a shape and a type: (16, 16), float32")
    lengths = arguments[0] if isinstance(arguments[0], tuple) else (arguments[0],)
    if any(not is_number(length) or np.ndim(length) for length in lengths):
        raise Unsupported(
            node,
            "the size of this array differs from thread to thread or is known only when the "
            "kernel runs; it must be a number, or a module-level name for one",
        )
    dtype = dtype_of_type(arguments[1])
    if dtype is None:
        raise Unsupported(node, "the type of an array must be one of numba's, such as float32")
    return tuple(int(length) for length in lengths), dtype


def name_of_array(context: Context, call: ast.Call) -> str:
    """The name a new array is assigned to."""
    for node in ast.walk(context.stack.source.tree):
        if isinstance(node, ast.Assign) and node.value is call:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                return target.id
    return "array"


def warn_of_double(context: Context, node: ast.Call, dtype: np.dtype) -> None:
    if dtype == np.float64:
        context.reporter.add(
            "slow",
            node,
            "this array holds float64; most GPUs compute float32 32 or 64 times "
            "faster: write float32",
            topic="double",
        )


# ---------------------------------------------------------------- atomics


OPERATIONS: dict[str, Operation] = {
    "add": atomic_add,
    "sub": lambda old, new, _: old - new,
    "and_": lambda old, new, _: old & new,
    "or_": lambda old, new, _: old | new,
    "xor": lambda old, new, _: old ^ new,
    "exch": lambda old, new, _: new,
    "max": lambda old, new, _: max(old, new),
    "min": lambda old, new, _: min(old, new),
    "nanmax": lambda old, new, _: np.fmax(old, new),
    "nanmin": lambda old, new, _: np.fmin(old, new),
    "inc": lambda old, new, _: old + old.dtype.type(1) if old < new else old.dtype.type(0),
    "dec": lambda old, new, _: new if old == 0 or old > new else old - old.dtype.type(1),
}


def atomic(context: Context, call: Call, operation: Operation) -> np.ndarray | None:
    """cuda.atomic.add(array, index, value) and its like. Returns what was there before."""
    node = call.node
    if len(call.arguments) != 3:
        raise needs(node, "an array, an index and a value")
    array, index, value = call.arguments
    if not isinstance(array, ArrayView) or not is_number(value):
        raise needs(node, "an array, an index and a value")
    return context.memory.change(array, indices_of(node, index), value, operation, call.mask, node)


def cas(context: Context, call: Call) -> np.ndarray | None:
    """cuda.atomic.cas(array, index, expected, value)"""
    if len(call.arguments) != 4:
        raise needs(call.node, "an array, an index, what is expected there, and a value")
    array, index, expected, value = call.arguments
    swap = swap_if(context, call.node, expected)
    return atomic(context, call._replace(arguments=[array, index, value]), swap)


def compare_and_swap(context: Context, call: Call) -> np.ndarray | None:
    """cuda.atomic.compare_and_swap(array, expected, value): of the array's first element."""
    if len(call.arguments) != 3 or not isinstance(call.arguments[0], ArrayView):
        raise needs(call.node, "an array, what is expected in it, and a value")
    array, expected, value = call.arguments
    first = (np.int64(0),) * len(array.shape)
    swap = swap_if(context, call.node, expected)
    return atomic(context, call._replace(arguments=[array, first, value]), swap)


def swap_if(context: Context, node: ast.Call, expected: object) -> Operation:
    if not is_number(expected):
        raise needs(node, "a number to compare with")
    return Swap(context.team.full(expected))


def indices_of(node: ast.Call, index: object) -> list[Number]:
    parts = index if isinstance(index, tuple) else (index,)
    indices = [part for part in parts if is_number(part)]
    if len(indices) != len(parts):
        raise needs(node, "an index that is a number or a tuple of numbers")
    return indices


def needs(node: ast.Call, what: str) -> Unsupported:
    return Unsupported(node, f"an atomic needs {what}")
