"""What the 32 threads of a warp do together: shuffles, votes, and their barrier."""

import ast
from collections.abc import Callable, Sequence

import numpy as np

from ...numba_types import INT64, Number, convert, truth
from ..context import Context
from ..stops import Stop
from ..teams import WARP, Mask, first_of
from .arguments import numbers

FULL_WARP = np.int64(0xFFFFFFFF)


def syncwarp(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> None:
    members = numbers(node, arguments, 1)[0] if arguments else FULL_WARP
    mask, _ = gather(context, node, members, mask, "cuda.syncwarp()")
    context.launch.happens_before.meet_in_warp(context.team.threads[mask])


def gather(
    context: Context, node: ast.Call, members: Number, mask: Mask, what: str, *values: Number
) -> tuple[Mask, list[np.ndarray]]:
    """(who is there, their values), once all the lanes that `members` names have arrived."""
    check_members(context, node, members, mask, what)
    team = context.team
    vectors = [team.full(value) for value in values]
    if not team.is_part_of_warp:
        return mask, vectors
    # Each lane runs on its own, and knows no values but its own.
    position = first_of(mask)
    named = (int(team.full(members)[position]) >> np.arange(WARP)) & 1 == 1
    own = tuple(vector[position] for vector in vectors)
    arrived = context.barriers.meet_in_warp(node, np.flatnonzero(named).tolist(), own)
    everybody = np.isin(np.arange(WARP), list(arrived))
    for number, vector in enumerate(vectors):
        vectors[number] = vector.copy()
        for lane, found in arrived.items():
            vectors[number][lane] = found[number]
    return everybody, vectors


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
            f"{context.whereabouts.explain_absence(position)}; {let_come(what)}",
            place=reporter.place_of(first_of(mask), position),
        )
        raise Stop
    unnamed = mask & ((bits >> team.lane) & 1 == 0)
    if unnamed.any():
        position = first_of(unnamed)
        reporter.add(
            "barrier",
            node,
            f"{reporter.name_position(position)} calls {what} with a mask that does not name it",
            place=reporter.place_of(position),
        )


def let_come(what: str) -> str:
    """Advice where lanes are named that do not come."""
    if what == "a shuffle":
        return (
            "let all lanes do the shuffle, before the branch, and only use its result there; or "
            "name in the mask only the lanes that come, and read from no other"
        )
    return "let all lanes come, and test afterwards; or name in the mask only those that come"


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
    here, (value,) = gather(context, node, members, mask, "a shuffle", value)
    team = context.team
    lane = team.lane.astype(np.int64)
    source = source_lane(lane, team.full(convert(argument, INT64)))
    source = np.where((source < 0) | (source >= WARP), lane, source)
    absent = mask & ~team.by_lane(here)[team.warp, source]
    if absent.any():
        position = first_of(absent)
        context.reporter.add(
            "uninitialised",
            node,
            f"{context.reporter.name_position(position)} reads the register of lane "
            f"{int(source[position])} of its warp, which does not take part in this shuffle",
            place=context.reporter.place_of(position),
        )
    return team.by_lane(value)[team.warp, source]


# ---------------------------------------------------------------- votes


def ballot(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> np.ndarray:
    """uint32: a bit for each lane for which the condition holds."""
    members, condition = numbers(node, arguments, 2)
    here, (condition,) = gather(context, node, members, mask, "a vote", truth(condition))
    return votes(context, condition & here)


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
    members, _ = numbers(node, arguments, 2)
    here, _ = gather(context, node, members, mask, "eq_sync")
    return match_any(context, node, arguments, mask) == votes(context, here)


def match_any(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> np.ndarray:
    """uint32: a bit for each lane that has the same value."""
    members, value = numbers(node, arguments, 2)
    team = context.team
    arrived, (value,) = gather(context, node, members, mask, "match_any_sync", value)
    values, here = team.by_lane(value), team.by_lane(arrived)
    return as_bits((value[:, None] == values[team.warp]) & here[team.warp])


def match_all(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> tuple[np.ndarray, np.ndarray]:
    """(uint32, bool): the lanes of the mask and True, if all have the same value; 0 and False."""
    members, _ = numbers(node, arguments, 2)
    named = context.team.full(members).astype(np.uint32) & votes(context, context.team.present)
    same = match_any(context, node, arguments, mask) & named == named
    return np.where(same, named, np.uint32(0)), same


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
