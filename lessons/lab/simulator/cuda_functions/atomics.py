"""Atomics: `cuda.atomic.add` and the like."""

import ast
from collections.abc import Sequence

import numpy as np

from ...numba_types import Number, is_number
from ..context import Context
from ..memory.arrays import ArrayView
from ..memory.in_turn import Operation, Swap, atomic_add
from ..stops import Unsupported
from ..teams import Mask

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


def atomic(
    context: Context,
    node: ast.Call,
    arguments: Sequence[object],
    mask: Mask,
    operation: Operation,
) -> np.ndarray | None:
    """cuda.atomic.add(array, index, value) and its like. Returns what was there before."""
    if len(arguments) != 3:
        raise needs(node, "an array, an index and a value")
    array, index, value = arguments
    if not isinstance(array, ArrayView) or not is_number(value):
        raise needs(node, "an array, an index and a value")
    return context.memory.change(array, indices_of(node, index), value, operation, mask, node)


def cas(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray | None:
    """cuda.atomic.cas(array, index, expected, value)"""
    if len(arguments) != 4:
        raise needs(node, "an array, an index, what is expected there, and a value")
    array, index, expected, value = arguments
    swap = swap_if(context, node, expected)
    return atomic(context, node, (array, index, value), mask, swap)


def compare_and_swap(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray | None:
    """cuda.atomic.compare_and_swap(array, expected, value): of the array's first element."""
    if len(arguments) != 3 or not isinstance(arguments[0], ArrayView):
        raise needs(node, "an array, what is expected in it, and a value")
    array, expected, value = arguments
    first = (np.int64(0),) * len(arguments[0].shape)
    return atomic(context, node, (array, first, value), mask, swap_if(context, node, expected))


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
