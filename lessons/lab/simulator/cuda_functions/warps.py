"""What the 32 threads of a warp do together: shuffles, votes, and their barrier."""

import ast
from collections.abc import Callable, Sequence

import numpy as np

from lessons.lab.numba_types import Number, convert, truth
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.cuda_functions.arguments import numbers
from lessons.lab.simulator.stops import Stop
from lessons.lab.simulator.teams import WARP, Mask, first_of

FULL_WARP = np.int64(0xFFFFFFFF)
INT64 = np.dtype(np.int64)


def syncwarp(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> None:
    members = numbers(node, arguments, 1)[0] if arguments else FULL_WARP
    check_members(context, node, members, mask, "cuda.syncwarp()")
    context.launch.happens_before.meet_in_warp(context.team.threads[mask])


def check_members(context: Context, node: ast.Call, members: Number, mask: Mask, what: str) -> None:
    """Every lane that the bits of `members` name must arrive, or the warp waits for ever."""
    team, reporter = context.team, context.reporter
    bits = team.full(members).astype(np.int64)
    named_by_arrived = np.bitwise_or.reduce(np.where(mask, bits, 0).reshape(-1, WARP), axis=1)
    named = (named_by_arrived[team.warp] >> team.lane) & 1 == 1
    absent = named & team.present & ~mask
    if absent.any():
        position = first_of(absent)
        reporter.add(
            "barrier",
            node,
            f"{what} waits for {reporter.name_position(position)}, which "
            f"{context.whereabouts.explain_absence(position)}; name in the mask only the lanes "
            "that come",
        )
        raise Stop
    unnamed = mask & ((bits >> team.lane) & 1 == 0)
    if unnamed.any():
        name = reporter.name_position(first_of(unnamed))
        reporter.add("barrier", node, f"{name} calls {what} with a mask that does not name it")


# ---------------------------------------------------------------- shuffles


def shuffle(
    context: Context,
    node: ast.Call,
    arguments: Sequence[object],
    mask: Mask,
    source_lane: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Each lane gets the value of another, source_lane(its lane, third argument)."""
    # A fourth argument may follow: the width, which is 32.
    members, value, argument = numbers(node, arguments[:3], 3)
    check_members(context, node, members, mask, "a shuffle")
    team = context.team
    lane = team.lane.astype(np.int64)
    source = source_lane(lane, team.full(convert(argument, INT64)))
    source = np.where((source < 0) | (source >= WARP), lane, source)
    absent = mask & ~team.by_lane(mask)[team.warp, source]
    if absent.any():
        position = first_of(absent)
        context.reporter.add(
            "uninitialised",
            node,
            f"{context.reporter.name_position(position)} reads the register of lane "
            f"{int(source[position])} of its warp, which does not take part in this shuffle",
        )
    return team.by_lane(value)[team.warp, source]


# ---------------------------------------------------------------- votes


def ballot(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> np.ndarray:
    """uint32: a bit for each lane for which the condition holds."""
    members, condition = numbers(node, arguments, 2)
    check_members(context, node, members, mask, "a vote")
    return votes(context, context.team.full(truth(condition)) & mask)


def all_sync(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    members, condition = numbers(node, arguments, 2)
    return ballot(context, node, (members, ~truth(condition)), mask) == 0


def any_sync(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    return ballot(context, node, arguments, mask) != 0


def eq_sync(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    return match_any(context, node, arguments, mask) == votes(context, mask)


def match_any(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    """uint32: a bit for each lane that has the same value."""
    members, value = numbers(node, arguments, 2)
    check_members(context, node, members, mask, "match_any_sync")
    team = context.team
    values, here = team.by_lane(value), team.by_lane(mask)
    return as_bits((team.full(value)[:, None] == values[team.warp]) & here[team.warp])


def activemask(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    return votes(context, mask)


def lanemask_lt(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    return ((np.int64(1) << context.team.lane.astype(np.int64)) - 1).astype(np.uint32)


def votes(context: Context, condition: Mask) -> np.ndarray:
    """uint32 per thread: a bit for each lane of its warp for which the condition holds."""
    return as_bits(context.team.by_lane(condition))[context.team.warp]


def as_bits(table: np.ndarray) -> np.ndarray:
    """(n,) uint32 from (n, 32) bool; column 0 is the lowest bit."""
    bits = table.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)
    return bits.sum(axis=1).astype(np.uint32)
