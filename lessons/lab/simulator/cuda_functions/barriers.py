"""Barriers of a block and of the grid, and memory fences."""

import ast
from collections.abc import Sequence

import numpy as np

from lessons.lab.names import CudaName
from lessons.lab.numba_types import truth
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.cuda_functions.arguments import numbers
from lessons.lab.simulator.teams import Mask


def syncthreads(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> None:
    context.barriers.meet_in_block(node, mask)


def syncthreads_count(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    (value,) = numbers(node, arguments, 1)
    return context.barriers.votes_in_block(node, context.team.full(truth(value)), mask)


def syncthreads_and(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    count = syncthreads_count(context, node, arguments, mask)
    return (count == context.launch.threads_per_block).astype(np.int32)


def syncthreads_or(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    return (syncthreads_count(context, node, arguments, mask) > 0).astype(np.int32)


def this_grid(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> CudaName:
    return CudaName("grid_group")


def grid_sync(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.int32:
    context.barriers.meet_in_grid(node, mask)
    return np.int32(0)


def nothing(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> None:
    """A fence, or a nap: here a write is seen by everybody at once."""
