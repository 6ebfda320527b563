"""Where a thread is: `cuda.threadIdx.x`, `cuda.grid(1)` and the like."""

import ast
from collections.abc import Callable, Sequence

import numpy as np

from ...numba_types import Number
from ..context import Context
from ..stops import Unsupported
from ..teams import WARP, Mask

AXES = "xyz"


def position_value(context: Context, path: str) -> Number | None:
    """The number behind "threadIdx.x" and the like, or None if the path is no number."""
    if path == "laneid":
        return context.team.lane
    if path == "warpsize":
        return np.int32(WARP)
    name, _, axis_name = path.partition(".")
    if len(axis_name) != 1 or axis_name not in AXES:
        return None
    axis = AXES.index(axis_name)
    if name == "threadIdx":
        return context.team.thread_index[axis]
    if name == "blockIdx":
        return context.team.block_index[axis]
    if name == "blockDim":
        return np.int32(context.launch.block[axis])
    if name == "gridDim":
        return np.int32(context.launch.grid[axis])
    return None


def grid(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> object:
    team, block = context.team, context.launch.block

    def thread_of_grid(axis: int) -> np.ndarray:
        first = team.block_index[axis].astype(np.int64) * block[axis]
        return first + team.thread_index[axis]

    return per_axis(node, arguments, thread_of_grid)


def gridsize(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> object:
    launch = context.launch
    return per_axis(node, arguments, lambda axis: np.int64(launch.grid[axis] * launch.block[axis]))


def per_axis(
    node: ast.Call, arguments: Sequence[object], value: Callable[[int], Number]
) -> Number | tuple[Number, ...]:
    dimensions = arguments[0] if len(arguments) == 1 else None
    if not isinstance(dimensions, np.integer) or dimensions not in (1, 2, 3):
        raise Unsupported(node, "cuda.grid and cuda.gridsize take 1, 2 or 3, written as a number")
    if dimensions == 1:
        return value(0)
    return tuple(value(axis) for axis in range(int(dimensions)))
