"""The parts of a launch that all teams share, and a team: threads that run in lock step."""

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from ..dimensions import Dim3
from ..frozen_globals import Values
from ..numba_types import Number
from ..source import Calls, Source
from .findings import Place
from .loop_compiler import Plan
from .memory.arrays import DynamicShared, Memory
from .memory.history import HappensBefore
from .report import Report

Where: TypeAlias = tuple[Source, int]  # with a line

WARP = 32
ROUNDS_WHEN_LOST = 1000  # of loops, after an index outside an array

Mask: TypeAlias = np.ndarray  # (team.size,) bool: some of a team's threads


class LaunchOptions(NamedTuple):
    """What a launch counts and keeps, and what it starts from; made of `options.Options`."""

    measure: bool
    record: bool
    budget: int  # rounds of loops
    dynamic_shared: int  # bytes
    expect_written: tuple[str, ...]  # arrays of which every element has to be written
    written_before: Mapping[str, np.ndarray]  # array -> which elements hold more than garbage
    compiles: bool  # whether Numba's compiler has said that the kernel compiles
    debug: bool  # whether a GPU would tell the host of an exception
    frozen: Values  # what has changed outside since the kernel was compiled, as it was then
    blocks: range  # those that run, by number
    negative: bool = True  # whether an index below 0 counts from the end
    unwritten: bool = False
    watch: Callable[..., Number] | None = None  # sees each number; see `watch.Computed`


class Launch:
    """One run of a kernel: its dimensions, its shared memory, its order of events and its report.

    Threads are numbered through the whole launch, block by block. A block's last warp is filled up
    to 32 with threads that do nothing, as on a GPU, so that a warp is always 32 numbers in a row.

    may_divide: whether a run that is stuck will be tried again with smaller teams.
    """

    def __init__(
        self, report: Report, grid: Dim3, block: Dim3, options: LaunchOptions, may_divide: bool
    ) -> None:
        self.report = report
        self.grid = grid
        self.block = block
        self.options = options
        self.rounds_left = options.budget
        self.lost = False  # whether an index was outside: the GPU would go on in some other way
        self.memories: list[Memory] = []  # of the arrays that the kernel is given
        self.changes = 0  # stores and atomics that may have changed memory, so far
        self.seen: set[ast.stmt] = set()  # statements that some thread has executed
        self.plans: dict[ast.stmt, Plan | None] = {}  # how to compile a loop that only computes
        self.cancelled = False  # nobody waits for the end of this run any more
        self.may_divide = may_divide
        self.first_block = options.blocks.start  # the others are counted from it on
        self.blocks = len(options.blocks)
        self.threads_per_block = block[0] * block[1] * block[2]
        self.padded_threads_per_block = -(-self.threads_per_block // WARP) * WARP
        self.happens_before = HappensBefore(self.blocks, self.padded_threads_per_block)
        self.shared: dict[ast.Call, Memory] = {}  # by the call of cuda.shared.array
        self.shared_bytes = 0  # of the arrays in `shared`, without dynamic ones
        self.dynamic: DynamicShared | None = None
        # (call, round) -> count in each block, for syncthreads_count and the like
        self.votes: dict[tuple[ast.Call, int], np.ndarray] = {}
        # where each access is, by which calls, and where a function of Numba's own was called
        self.place_of_tick: dict[int, tuple[Source, ast.expr, Calls, Where | None]] = {}
        self.phase = 0  # barriers so far
        self.instruction = 0  # memory instructions so far
        # file, line and text of the first access by a signed index
        self.signed_index: tuple[str, int, str] | None = None

    def lose_track(self) -> None:
        """An index is outside its array: what comes after that is looked at only for a while."""
        self.lost = True
        self.rounds_left = min(self.rounds_left, ROUNDS_WHEN_LOST)

    def meet_in_block(self, threads: np.ndarray) -> None:
        """A barrier of one or more blocks; `threads`: all threads of these blocks."""
        self.happens_before.meet_in_block(threads)
        self.phase += 1

    def meet_in_grid(self) -> None:
        self.happens_before.meet_in_grid()
        self.phase += 1

    def name_thread(self, thread: int) -> str:
        """ "thread 3 of block 1", or with tuples where the launch has more dimensions."""
        block, within = divmod(int(thread), self.padded_threads_per_block)
        thread_index = short(unravel(within, self.block), self.block)
        block_index = short(unravel(block + self.first_block, self.grid), self.grid)
        return f"thread {thread_index} of block {block_index}"

    def place_of(self, thread: int, other: int | None = None) -> Place:
        """Which thread of which block this is, for the fields of a finding.

        other: another one that it has to do with.
        """
        block, within = divmod(int(thread), self.padded_threads_per_block)
        x, y, z = unravel(within, self.block)
        column, row, layer = unravel(block + self.first_block, self.grid)
        place = Place((int(x), int(y), int(z)), (int(column), int(row), int(layer)))
        if other is None:
            return place
        there = self.place_of(other)
        return place._replace(other_thread=there.thread, other_block=there.block)


Coordinate: TypeAlias = int | np.ndarray


def unravel(number: Coordinate, sizes: Dim3) -> tuple[Coordinate, ...]:
    """(x, y, z) of the block or thread with this number; x runs fastest."""
    columns, rows, _ = sizes
    return number % columns, number // columns % rows, number // (columns * rows)


def short(index: tuple[Coordinate, ...], sizes: Dim3) -> str:
    """An index with as many dimensions as the sizes have."""
    dimensions = max([1] + [axis + 1 for axis in range(3) if sizes[axis] > 1])
    return str(index[0]) if dimensions == 1 else str(tuple(int(i) for i in index[:dimensions]))


def anybody(mask: Mask) -> bool:
    """Whether a mask holds any thread: what `mask.any()` says, in a third of its time."""
    return bool(np.count_nonzero(mask))


def first_of(mask: Mask) -> int:
    """Position of the first thread in a mask that is not empty."""
    return int(np.flatnonzero(mask)[0])


class Team:
    """Threads that run together, one instruction at a time for all of them.

    threads: (size,) int64: their numbers in the launch, whole warps, in the order in which their
    accesses take effect. A thread's place in this order is its *position*.
    present: (size,) bool: which of them take part; the others only fill up their warp.
    """

    def __init__(self, launch: Launch, threads: np.ndarray, present: Mask) -> None:
        self.size = len(threads)
        self.threads = threads
        self.present = present
        self.nobody: Mask = np.zeros(self.size, bool)
        within = (threads % launch.padded_threads_per_block).astype(np.int32)
        block_number = threads // launch.padded_threads_per_block
        self.block_number = block_number.astype(np.int32)
        self.block_index = as_vectors(unravel(block_number + launch.first_block, launch.grid))
        self.thread_index = as_vectors(unravel(within, launch.block))
        self.warp = np.arange(self.size) // WARP  # of this team: 0, 0, ..., 1, 1, ...
        self.lane = (threads % WARP).astype(np.int32)
        self.local: dict[ast.Call, Memory] = {}  # by the call of cuda.local.array
        self.is_part_of_warp = False  # whether other teams have other lanes of its warps
        self.ended: Mask | None = None  # threads that an exception has ended; None: no thread
        self.looks = 0  # reads of memory that others may write, so far

    def end(self, mask: Mask) -> None:
        """An exception ends these threads."""
        self.ended = mask if self.ended is None else self.ended | mask

    def going_on(self, mask: Mask) -> Mask:
        """Those of a mask that no exception has ended."""
        return mask if self.ended is None else mask & ~self.ended

    def full(self, value: Number) -> np.ndarray:
        """A number as a vector with one element per thread."""
        return value if isinstance(value, np.ndarray) else np.full(self.size, value)

    def by_lane(self, value: Number) -> np.ndarray:
        """A number as a (warps, 32) table, column = lane."""
        vector = self.full(value)
        table = np.zeros((self.size // WARP, WARP), vector.dtype)
        table[self.warp, self.lane] = vector
        return table

    def from_lanes(self, table: np.ndarray) -> np.ndarray:
        """The vector of a (warps, 32) table, column = lane."""
        return np.asarray(table)[self.warp, self.lane]


def as_vectors(coordinates: Iterable[Coordinate]) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(numbers, np.int32) for numbers in coordinates)


# ---------------------------------------------------------------- dividing a launch into teams

Division: TypeAlias = Callable[[Launch], list[Team]]


def whole_grid(launch: Launch) -> list[Team]:
    """One team of all threads, in their natural order."""
    return [team_of(launch, all_threads(launch))]


def team_per_block(launch: Launch) -> list[Team]:
    warps = range(launch.padded_threads_per_block // WARP)
    return [team_of_warps(launch, block, warps) for block in range(launch.blocks)]


def team_per_warp(launch: Launch) -> list[Team]:
    warps = range(launch.padded_threads_per_block // WARP)
    return [team_of_warps(launch, block, [w]) for block in range(launch.blocks) for w in warps]


def team_per_thread(launch: Launch) -> list[Team]:
    """The finest division: each thread goes its own way, as on GPUs since Volta."""
    teams = []
    for block in range(launch.blocks):
        for thread in range(launch.threads_per_block):
            warp = warp_threads(launch, block, thread // WARP)
            team = Team(launch, warp, np.arange(WARP) == thread % WARP)
            team.is_part_of_warp = launch.threads_per_block > 1
            teams.append(team)
    return teams


def shuffled_teams(launch: Launch, seed: int) -> list[Team]:
    """Each block's warps in random order, divided into at most two teams; threads shuffled."""
    random = np.random.Generator(np.random.Philox(seed))
    teams = []
    for block in random.permutation(launch.blocks):
        warps = random.permutation(launch.padded_threads_per_block // WARP)
        cut = int(random.integers(0, len(warps)))
        for part in (warps[:cut], warps[cut:]):
            if len(part):
                teams.append(team_of_warps(launch, int(block), part, random))
    return [teams[i] for i in random.permutation(len(teams))]


def reversed_teams(launch: Launch) -> list[Team]:
    """The last block first, its last warp first, its last thread first."""
    return [team_of(launch, all_threads(launch)[::-1].copy())]


def all_threads(launch: Launch) -> np.ndarray:
    return np.arange(launch.blocks * launch.padded_threads_per_block, dtype=np.int64)


def warp_threads(launch: Launch, block: int, warp: int) -> np.ndarray:
    first = block * launch.padded_threads_per_block + warp * WARP
    return first + np.arange(WARP, dtype=np.int64)


def team_of_warps(
    launch: Launch, block: int, warps: Iterable[int], random: np.random.Generator | None = None
) -> Team:
    """A team of some warps of a block, threads shuffled within each warp if `random` is given."""
    rows = [warp_threads(launch, block, warp) for warp in warps]
    if random is not None:
        rows = [random.permutation(row) for row in rows]
    return team_of(launch, np.concatenate(rows))


def team_of(launch: Launch, threads: np.ndarray) -> Team:
    within = threads % launch.padded_threads_per_block
    return Team(launch, threads, within < launch.threads_per_block)
