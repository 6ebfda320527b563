"""Positions of threads, barriers, shuffles and votes."""

from collections.abc import Callable

import numpy as np

from ...names import CudaName
from ...numba_types import INT64, Number, convert, truth
from ..context import Context
from ..stops import Stop, Unsupported
from ..teams import WARP, Mask, first_of
from ..values import Call
from .numbers import numbers

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


def grid(context: Context, call: Call) -> object:
    team, block = context.team, context.launch.block

    def thread_of_grid(axis: int) -> np.ndarray:
        first = team.block_index[axis].astype(np.int64) * block[axis]
        return first + team.thread_index[axis]

    return per_axis(call, thread_of_grid)


def gridsize(context: Context, call: Call) -> object:
    launch = context.launch
    return per_axis(call, lambda axis: np.int64(launch.grid[axis] * launch.block[axis]))


def per_axis(call: Call, value: Callable[[int], Number]) -> Number | tuple[Number, ...]:
    dimensions = call.arguments[0] if len(call.arguments) == 1 else None
    if not isinstance(dimensions, np.integer) or dimensions not in (1, 2, 3):
        text = "cuda.grid and cuda.gridsize take 1, 2 or 3, written as a number"
        raise Unsupported(call.node, text)
    if dimensions == 1:
        return value(0)
    return tuple(value(axis) for axis in range(int(dimensions)))


# ---------------------------------------------------------------- barriers


def syncthreads(context: Context, call: Call) -> None:
    context.barriers.meet_in_block(call.node, call.mask)


def syncthreads_count(context: Context, call: Call) -> np.ndarray:
    (value,) = numbers(call, 1)
    if value.dtype == np.bool_ and not context.launch.options.compiles:
        raise Unsupported(call.node, "it takes a whole number: write 1 if ... else 0")
    return context.barriers.votes_in_block(call.node, context.team.full(truth(value)), call.mask)


def syncthreads_and(context: Context, call: Call) -> np.ndarray:
    count = syncthreads_count(context, call)
    return (count == context.launch.threads_per_block).astype(np.int32)


def syncthreads_or(context: Context, call: Call) -> np.ndarray:
    return (syncthreads_count(context, call) > 0).astype(np.int32)


def this_grid(context: Context, call: Call) -> CudaName:
    return CudaName("grid_group")


def grid_sync(context: Context, call: Call) -> np.int32:
    context.barriers.meet_in_grid(call.node, call.mask)
    return np.int32(0)


def fence(context: Context, call: Call, only_block: bool = False) -> None:
    order = context.launch.happens_before
    order.fences.fence(order, context.team.threads[call.mask], only_block)


def nothing(context: Context, call: Call) -> None:
    """A nap: time does not pass here."""


# ---------------------------------------------------------------- shuffles and votes


FULL_WARP = np.int64(0xFFFFFFFF)


def syncwarp(context: Context, call: Call) -> None:
    members = numbers(call, 1)[0] if call.arguments else FULL_WARP
    mask, _ = gather(context, call, members, "cuda.syncwarp()")
    context.launch.happens_before.meet_in_warp(context.team.threads[mask])


def gather(
    context: Context, call: Call, members: Number, what: str, *values: Number
) -> tuple[Mask, list[np.ndarray]]:
    """(who is there, their values), once all the lanes that `members` names have arrived."""
    check_members(context, call, members, what)
    team, mask = context.team, call.mask
    vectors = [team.full(value) for value in values]
    if not team.is_part_of_warp:
        return mask, vectors
    # Each lane runs on its own, and knows no values but its own.
    position = first_of(mask)
    named = (int(team.full(members)[position]) >> np.arange(WARP)) & 1 == 1
    own = tuple(vector[position] for vector in vectors)
    arrived = context.barriers.meet_in_warp(call.node, np.flatnonzero(named).tolist(), own)
    everybody = np.isin(np.arange(WARP), list(arrived))
    for number, vector in enumerate(vectors):
        vectors[number] = vector.copy()
        for lane, found in arrived.items():
            vectors[number][lane] = found[number]
    return everybody, vectors


def check_members(context: Context, call: Call, members: Number, what: str) -> None:
    """Every lane that the bits of `members` name must arrive, or the warp waits for ever."""
    team, reporter, node, mask = context.team, context.reporter, call.node, call.mask
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


def shuffle(
    context: Context, call: Call, source_lane: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Each lane gets the value of another, source_lane(its lane, third argument)."""
    # A fourth argument may follow: the width, which is 32.
    members, value, argument = numbers(call._replace(arguments=call.arguments[:3]), 3)
    here, (value,) = gather(context, call, members, "a shuffle", value)
    team = context.team
    lane = team.lane.astype(np.int64)
    source = source_lane(lane, team.full(convert(argument, INT64)))
    source = np.where((source < 0) | (source >= WARP), lane, source)
    absent = call.mask & ~team.by_lane(here)[team.warp, source]
    if absent.any():
        position = first_of(absent)
        context.reporter.add(
            "uninitialised",
            call.node,
            f"{context.reporter.name_position(position)} reads the register of lane "
            f"{int(source[position])} of its warp, which does not take part in this shuffle",
            place=context.reporter.place_of(position),
        )
    return team.by_lane(value)[team.warp, source]


# ---------------------------------------------------------------- votes


def ballot(context: Context, call: Call) -> np.ndarray:
    """uint32: a bit for each lane for which the condition holds."""
    members, condition = numbers(call, 2)
    here, (condition,) = gather(context, call, members, "a vote", truth(condition))
    return votes(context, condition & here)


def all_sync(context: Context, call: Call) -> np.ndarray:
    members, condition = numbers(call, 2)
    return ballot(context, call._replace(arguments=[members, ~truth(condition)])) == 0


def any_sync(context: Context, call: Call) -> np.ndarray:
    return ballot(context, call) != 0


def eq_sync(context: Context, call: Call) -> np.ndarray:
    members, _ = numbers(call, 2)
    here, _ = gather(context, call, members, "eq_sync")
    return match_any(context, call) == votes(context, here)


def match_any(context: Context, call: Call) -> np.ndarray:
    """uint32: a bit for each lane that has the same value."""
    members, value = numbers(call, 2)
    team = context.team
    arrived, (value,) = gather(context, call, members, "match_any_sync", value)
    values, here = team.by_lane(value), team.by_lane(arrived)
    return as_bits((value[:, None] == values[team.warp]) & here[team.warp])


def match_all(context: Context, call: Call) -> tuple[np.ndarray, np.ndarray]:
    """(uint32, bool): the lanes of the mask and True, if all have the same value; 0 and False."""
    members, _ = numbers(call, 2)
    named = context.team.full(members).astype(np.uint32) & votes(context, context.team.present)
    same = match_any(context, call) & named == named
    return np.where(same, named, np.uint32(0)), same


def activemask(context: Context, call: Call) -> np.ndarray:
    return votes(context, call.mask)


def lanemask_lt(context: Context, call: Call) -> np.ndarray:
    return ((np.int64(1) << context.team.lane.astype(np.int64)) - 1).astype(np.uint32)


def votes(context: Context, condition: Mask) -> np.ndarray:
    """uint32 per thread: a bit for each lane of its warp for which the condition holds."""
    return as_bits(context.team.by_lane(condition))[context.team.warp]


def as_bits(table: np.ndarray) -> np.ndarray:
    """(n,) uint32 from (n, 32) bool; column 0 is the lowest bit."""
    bits = table.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)
    return bits.sum(axis=1).astype(np.uint32)
