"""Run a raw GPU instruction: its emulation in NumPy, which sees whole warps.

An instruction such as those of `kernels/fast/ptx.py` has an attribute `emulation`: a function that
takes and returns (warps, 32) tables, one row per warp and one column per lane.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...numba_types import Number, is_number
from ..context import Context
from ..memory.arrays import ArrayView
from ..memory.in_turn import atomic_add
from ..stops import Unsupported
from ..teams import WARP, Mask, Team


def call_emulation(
    context: Context, node: ast.Call, emulation: Callable, arguments: Sequence[object], mask: Mask
) -> object:
    """Value of a call of a raw instruction: a number per thread, a tuple of them, or None."""
    team = context.team
    tables = [as_table(context, node, argument, mask) for argument in arguments]
    result = emulation(*tables)
    if result is None:
        return None
    if isinstance(result, tuple):
        return tuple(map(team.from_lanes, result))
    return team.from_lanes(result)


def as_table(
    context: Context, node: ast.Call, argument: object, mask: Mask
) -> "np.ndarray | WarpArray":
    if is_number(argument):
        return context.team.by_lane(argument)
    if isinstance(argument, ArrayView):
        return WarpArray(context, argument, mask, node)
    raise Unsupported(node, f"`{ast.unparse(node)}` takes numbers and arrays")


class WarpArray:
    """An array as an emulation sees it: indexed with tables, and checked like any access."""

    def __init__(self, context: Context, view: ArrayView, mask: Mask, node: ast.Call) -> None:
        self.team: Team = context.team
        self.memory = context.memory
        self.happens_before = context.launch.happens_before
        self.view = view
        self.mask = mask
        self.node = node

    def __getitem__(self, index: Any) -> np.ndarray:
        value = self.memory.load(self.view, self.indices(index), self.mask, self.node)
        if not is_number(value):
            raise Unsupported(self.node, f"{self.view.memory.name} needs an index per dimension")
        return self.team.by_lane(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        indices, vector = self.indices(index), self.per_thread(value)
        self.memory.store(self.view, indices, vector, self.mask, self.node)

    def add(self, index: Any, value: Any) -> np.ndarray | None:
        """Add atomically. Returns what was there before, unless nobody looks at it."""
        indices, vector = self.indices(index), self.per_thread(value)
        old = self.memory.change(self.view, indices, vector, atomic_add, self.mask, self.node)
        return None if old is None else self.team.by_lane(old)

    def release(self, index: Any, value: Any) -> None:
        """Add atomically; whoever acquires what was added knows what this block did before."""
        order, threads = self.happens_before, self.team.threads[self.mask]
        order.fences.fence(order, threads, only_block=False)
        self.add(index, value)

    def acquire(self, index: Any) -> np.ndarray | None:
        """Read atomically what others release."""
        return self.add(index, self.view.dtype.type(0))

    def indices(self, index: Any) -> list[Number]:
        return [self.per_thread(part) for part in (index if isinstance(index, tuple) else (index,))]

    def per_thread(self, table: Any) -> np.ndarray:
        return self.team.from_lanes(np.broadcast_to(table, (self.team.size // WARP, WARP)))
