"""What fences and atomics put in order: who knows what other threads did, without a barrier.

A thread that executes a fence and then changes a number atomically *releases*: whoever reads that
number atomically from then on (*acquires*) knows all that the thread did before its fence, and all
that the thread itself knew there. This is the order that CUDA's memory model gives to locks, to
flags, and to counters of finished blocks. An atomic without a fence before it orders nothing, and a
fence of a block orders nothing for other blocks.

A number in memory through which somebody has released is a `Channel`. Since atomics on one number
come one after the other, a thread knows all that was released through a channel before its own last
atomic there: so a *stamp*, a running number of atomics, says what it knows.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

# A number in memory: its history and the element; for what only one block may know, the block too.
Place: TypeAlias = tuple[Hashable, ...]
Known: TypeAlias = dict["Channel", int]  # the stamp up to which a channel is known; never changed

NOTHING: Known = {}


class Covered:
    """Up to which tick something is known from which stamp on; both only grow."""

    def __init__(self) -> None:
        self.stamps: list[int] = []
        self.ticks: list[int] = []

    @property
    def latest(self) -> int:
        return self.ticks[-1] if self.ticks else 0

    def add(self, stamp: int, tick: int) -> bool:
        """Returns whether it was not known before."""
        if tick <= self.latest:
            return False
        self.stamps.append(stamp)
        self.ticks.append(tick)
        return True

    def includes(self, tick: int, stamp: int) -> bool:
        """Whether who knows all before `stamp` knows what happened at `tick`."""
        first = bisect_left(self.ticks, tick)
        return first < len(self.ticks) and self.stamps[first] < stamp


class Channel:
    """What was released through one number in memory."""

    def __init__(self) -> None:
        self.last_stamp = 0
        self.threads: dict[int, Covered] = {}
        self.warps: dict[int, Covered] = {}  # what all threads of a warp did
        self.blocks: dict[int, Covered] = {}  # what all threads of a block did
        self.grid_tick = 0  # what all threads of the grid did up to this tick
        self.known: Known = NOTHING  # of other channels

    def covers(self, thread: int, warp: int, block: int, tick: int, stamp: int) -> bool:
        """Whether who knows this channel up to `stamp` knows what a thread did at `tick`."""
        groups = (self.threads.get(thread), self.warps.get(warp), self.blocks.get(block))
        return any(covered is not None and covered.includes(tick, stamp) for covered in groups)


class Fences:
    """The last fence of each thread, of one scope, and what the thread knew there."""

    def __init__(self, threads: int) -> None:
        self.tick = np.zeros(threads, np.int64)
        self.warp_tick = np.zeros(threads, np.int64)
        self.block_tick = np.zeros(threads, np.int64)
        self.grid_tick = np.zeros(threads, np.int64)
        self.known: dict[int, Known] = {}


class Synchronisation:
    """All channels of a launch, and what each thread knows of them."""

    def __init__(self, blocks: int, block_of: np.ndarray, warp_of: np.ndarray) -> None:
        self.blocks = blocks
        self.block_of = block_of
        self.warp_of = warp_of
        self.stamp = 0
        self.device_fences: Fences | None = None
        self.block_fences: Fences | None = None
        self.can_release = np.zeros(len(block_of), bool)  # those that have fenced, and their mates
        # (thread, tick) of fences before the last barrier: who releases later speaks for them, too
        self.mates_of_warp: dict[int, list[tuple[int, int]]] = {}
        self.mates_of_block: dict[int, list[tuple[int, int]]] = {}
        self.last_change: np.ndarray | None = None  # tick of each thread's last atomic
        self.last_question: np.ndarray | None = None  # and of the last one that looks
        self.channels: dict[Place, Channel] = {}
        self.memories: set[Hashable] = set()  # in which there are channels
        self.channels_of_block: dict[int, dict[Channel, None]] = {}  # in which it has released
        self.known_by_thread: dict[int, Known] = {}
        self.known_by_block: dict[int, Known] = {}

    # ------------------------------------------------------------ fences and barriers

    def fence(self, order: "Ticks", threads: np.ndarray, only_block: bool) -> None:
        """These threads execute a fence, for everybody or for their own blocks."""
        fences = self.block_fences if only_block else self.device_fences
        if fences is None:
            fences = Fences(len(self.block_of))
            if only_block:
                self.block_fences = fences
            else:
                self.device_fences = fences
        self.can_release[threads] = True
        fences.tick[threads] = max(1, order.tick)
        fences.warp_tick[threads] = order.warp_tick[threads]
        fences.block_tick[threads] = order.block_tick[threads]
        fences.grid_tick[threads] = order.grid_tick[threads]
        if self.known_by_thread or self.known_by_block:
            for thread in threads.tolist():
                fences.known[thread] = self.known_by(thread)

    def meet_in_warps(self, threads: np.ndarray) -> None:
        """Threads of one or more warps have met."""
        known_of = self.meet(threads, self.warp_of[threads], self.mates_of_warp)
        if not known_of:
            return
        for thread, warp in zip(threads.tolist(), self.warp_of[threads].tolist(), strict=True):
            if warp in known_of:
                own = self.known_by_thread.get(thread, NOTHING)
                self.known_by_thread[thread] = merged(own, known_of[warp])

    def meet_in_blocks(self, threads: np.ndarray) -> None:
        """All threads of one or more blocks have met."""
        known_of = self.meet(threads, self.block_of[threads], self.mates_of_block)
        for block, known in known_of.items():
            self.known_by_block[block] = merged(self.known_by_block.get(block, NOTHING), known)
        self.known_by_thread = {
            thread: known
            for thread, known in self.known_by_thread.items()
            if int(self.block_of[thread]) not in known_of
        }

    def meet(
        self, threads: np.ndarray, numbers: np.ndarray, mates: dict[int, list[tuple[int, int]]]
    ) -> dict[int, Known]:
        """Note the fences of threads that meet. numbers: of their warps, or of their blocks.

        Returns what one of the threads of each group knows, and all of them from now on.
        """
        if self.device_fences is not None:
            ticks = self.device_fences.tick[threads]
            for number in np.unique(numbers[ticks > 0]).tolist():
                fenced = (numbers == number) & (ticks > 0)
                pairs = zip(threads[fenced].tolist(), ticks[fenced].tolist(), strict=True)
                mates[number] = list(pairs)
                self.can_release[threads[numbers == number]] = True
        known_of: dict[int, Known] = {}
        if self.known_by_thread:
            for thread, number in zip(threads.tolist(), numbers.tolist(), strict=True):
                if thread in self.known_by_thread:
                    known = known_of.get(number, NOTHING)
                    known_of[number] = merged(known, self.known_by_thread[thread])
        return known_of

    def meet_in_grid(self) -> None:
        """Everybody knows everything now."""
        self.channels.clear()
        self.channels_of_block.clear()
        self.known_by_thread.clear()
        self.known_by_block.clear()
        self.memories.clear()
        self.mates_of_warp.clear()
        self.mates_of_block.clear()
        self.can_release[:] = False
        self.device_fences = self.block_fences = None

    # ------------------------------------------------------------ atomics

    def atomics(
        self,
        order: "Ticks",
        memory: Hashable,
        elements: np.ndarray,
        threads: np.ndarray,
        acquires: bool,
    ) -> None:
        """Threads change one number each, in this order.

        acquires: whether they look at what was there before.
        """
        self.note(order.tick, threads, acquires)
        releases = self.can_release[threads]
        if memory not in self.memories and not releases.any():
            return
        for element, thread, can_release in zip(
            elements.tolist(), threads.tolist(), releases.tolist(), strict=True
        ):
            self.stamp += 2
            block = int(self.block_of[thread])
            for place in ((memory, element), (memory, element, block)):
                channel = self.channels.get(place)
                if acquires and channel is not None:
                    self.acquire(order, channel, thread)
            if can_release:
                self.release(memory, element, thread, block)

    def note(self, tick: int, threads: np.ndarray, acquires: bool) -> None:
        """Keep when threads did their last atomic: for what a finding advises."""
        if self.last_change is None or self.last_question is None:
            self.last_change = np.zeros(len(self.block_of), np.int64)
            self.last_question = np.zeros(len(self.block_of), np.int64)
        self.last_change[threads] = tick
        if acquires:
            self.last_question[threads] = tick

    def acquire(self, order: "Ticks", channel: Channel, thread: int) -> None:
        known = self.known_by_thread.get(thread, NOTHING)
        if known.get(channel, 0) > channel.last_stamp:
            return  # nothing new since
        self.known_by_thread[thread] = merged(known, channel.known, {channel: self.stamp})
        tick = channel.grid_tick
        if len(channel.blocks) == self.blocks > 1:
            # Through a barrier of the grid that is only a number in memory.
            tick = max(tick, min(covered.latest for covered in channel.blocks.values()))
        order.grid_tick[thread] = max(int(order.grid_tick[thread]), tick)

    def release(self, memory: Hashable, element: int, thread: int, block: int) -> None:
        warp = int(self.warp_of[thread])
        mates = self.mates_of_warp.get(warp, []) + self.mates_of_block.get(block, [])
        fences = self.device_fences
        if mates or (fences is not None and fences.tick[thread]):
            channel = self.channel((memory, element), block)
            new = [
                channel.threads.setdefault(mate, Covered()).add(self.stamp + 1, tick)
                for mate, tick in mates
            ]
            if any(new):
                channel.last_stamp = self.stamp + 1
            if fences is not None:
                self.release_own(channel, fences, thread, warp, block)
        fences = self.block_fences
        if fences is not None and fences.tick[thread]:
            channel = self.channel((memory, element, block), block)
            self.release_own(channel, fences, thread, warp, block)

    def channel(self, place: Place, block: int) -> Channel:
        """The channel at a place, which is made if there is none, and through which a block
        releases."""
        if place not in self.channels:
            self.channels[place] = Channel()
            self.memories.add(place[0])
        self.channels_of_block.setdefault(block, {})[self.channels[place]] = None
        return self.channels[place]

    def release_own(
        self, channel: Channel, fences: Fences, thread: int, warp: int, block: int
    ) -> None:
        """Release what a thread knew at its last fence."""
        stamp = self.stamp + 1
        new = channel.threads.setdefault(thread, Covered()).add(stamp, int(fences.tick[thread]))
        if not new:
            return
        channel.last_stamp = stamp
        channel.warps.setdefault(warp, Covered()).add(stamp, int(fences.warp_tick[thread]))
        channel.blocks.setdefault(block, Covered()).add(stamp, int(fences.block_tick[thread]))
        channel.grid_tick = max(channel.grid_tick, int(fences.grid_tick[thread]))
        known = fences.known.get(thread, NOTHING)
        others = {other: known[other] for other in known if other is not channel}
        channel.known = merged(channel.known, others)

    # ------------------------------------------------------------ questions

    def known_by(self, thread: int) -> Known:
        own = self.known_by_thread.get(thread, NOTHING)
        return merged(self.known_by_block.get(int(self.block_of[thread]), NOTHING), own)

    def still_unordered(
        self, mask: np.ndarray, tick: np.ndarray, thread: np.ndarray, now: np.ndarray
    ) -> np.ndarray:
        """Of the accesses in `mask`, those that the threads `now` do not know of."""
        if not self.channels:
            return mask
        mask = mask.copy()
        known_of: dict[int, Known] = {}
        for index in np.flatnonzero(mask).tolist():
            knower = int(now[index])
            if knower not in known_of:
                known_of[knower] = self.known_by(knower)
            if self.knows(known_of[knower], int(thread[index]), int(tick[index])):
                mask[index] = False
        return mask

    def knows(self, known: Known, thread: int, tick: int) -> bool:
        """Whether who knows this much knows what a thread did at a tick."""
        block, warp = int(self.block_of[thread]), int(self.warp_of[thread])
        for channel in self.channels_of_block.get(block, ()):
            if channel in known and channel.covers(thread, warp, block, tick, known[channel]):
                return True
        return False


class Ticks(Protocol):
    """What `Synchronisation` needs to know of a `HappensBefore`; each array is (threads,) int64."""

    tick: int
    warp_tick: np.ndarray
    block_tick: np.ndarray
    grid_tick: np.ndarray


def merged(*parts: Known) -> Known:
    """All that somebody knows who knows each of the parts."""
    filled: Sequence[Known] = [part for part in parts if part]
    if len(filled) < 2:
        return filled[0] if filled else NOTHING
    result = dict(filled[0])
    for part in filled[1:]:
        for channel, stamp in part.items():
            if result.get(channel, 0) < stamp:
                result[channel] = stamp
    return result
