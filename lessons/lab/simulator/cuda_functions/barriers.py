"""Barriers of a block and of the grid, and memory fences."""

import ast
from collections.abc import Sequence

import numpy as np

from ...names import CudaName
from ...numba_types import truth
from ..context import Context
from ..stops import Unsupported
from ..teams import Mask
from .arguments import numbers


def syncthreads(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> None:
    context.barriers.meet_in_block(node, mask)


def syncthreads_count(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    (value,) = numbers(node, arguments, 1)
    if value.dtype == np.bool_ and not context.launch.compiles:
        raise Unsupported(node, "it takes a whole number: write 1 if ... else 0")
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


def fence(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> None:
    order = context.launch.happens_before
    order.fences.fence(order, context.team.threads[mask], only_block=False)


def fence_of_block(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> None:
    order = context.launch.happens_before
    order.fences.fence(order, context.team.threads[mask], only_block=True)


def nothing(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> None:
    """A nap: time does not pass here."""
