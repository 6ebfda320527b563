"""A history for each element of memory: who touched it, and whether anything came in between.

Every access in a run gets a *tick*, a running number. A barrier gets one too, and with it all
threads that met there know: what the others did before this tick has happened. So two accesses to
one element are in order if a barrier that both threads took part in lies between them, and they
are a data race if none does, they come from two threads, and at least one of them writes.

For each element it is enough to keep the last write and the last two readers (three for global
memory): whoever writes next conflicts with one of those, or with nobody. Oclgrind and
compute-sanitizer's racecheck work on the same principle.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .fences import Synchronisation

NEVER = 0
MAX_UNSORTED = 20_000_000


class HappensBefore:
    """Ticks, and for each thread of a launch when it last met the others.

    Who meets nobody can still learn of others through fences and atomics: see `fences`.
    """

    def __init__(self, blocks: int, padded_threads_per_block: int) -> None:
        threads = blocks * padded_threads_per_block
        self.blocks = blocks
        self.padded_threads_per_block = padded_threads_per_block
        self.tick = NEVER
        self.block_of = np.repeat(np.arange(blocks, dtype=np.int32), padded_threads_per_block)
        self.warp_of = np.arange(threads, dtype=np.int32) // 32
        self.warp_tick = np.zeros(threads, np.int64)
        self.block_tick = np.zeros(threads, np.int64)
        self.grid_tick = np.zeros(threads, np.int64)
        self.earliest_block_tick = NEVER
        self.earliest_grid_tick = NEVER
        self.fences = Synchronisation(blocks, self.block_of, self.warp_of)

    def next_tick(self) -> int:
        self.tick += 1
        return self.tick

    def meet_in_warp(self, threads: np.ndarray) -> None:
        self.warp_tick[threads] = self.next_tick()
        self.fences.meet_in_warps(threads)

    def meet_in_block(self, threads: np.ndarray) -> None:
        """threads: all threads of one or more blocks."""
        tick = self.next_tick()
        self.block_tick[threads] = tick
        self.warp_tick[threads] = tick
        self.earliest_block_tick = int(self.block_tick.min())
        self.fences.meet_in_blocks(threads)
        if self.fences.channels:
            self.share_in_block(threads)

    def meet_in_grid(self) -> None:
        tick = self.next_tick()
        self.earliest_grid_tick = self.earliest_block_tick = tick
        self.grid_tick[:] = tick
        self.block_tick[:] = tick
        self.warp_tick[:] = tick
        self.fences.meet_in_grid()

    def share_in_block(self, threads: np.ndarray) -> None:
        """At a barrier, all threads of a block learn what one of them knows of other blocks."""
        latest = self.grid_tick[threads].reshape(-1, self.padded_threads_per_block).max(axis=1)
        self.grid_tick[threads] = np.repeat(latest, self.padded_threads_per_block)
        self.earliest_grid_tick = int(self.grid_tick.min())

    def unordered(self, tick: np.ndarray, thread: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Mask of the accesses (tick, thread) with no barrier before one by the threads `now`."""
        same_block = self.block_of[thread] == self.block_of[now]
        same_warp = self.warp_of[thread] == self.warp_of[now]
        met = np.where(same_block, self.block_tick[now], self.grid_tick[now])
        met_in_warp = np.minimum(self.warp_tick[thread], self.warp_tick[now])
        met = np.where(same_warp, met_in_warp, met)
        return self.fences.still_unordered((thread != now) & (tick > met), tick, thread, now)


class Conflict(NamedTuple):
    """Former accesses to some elements that the present one is not in order with."""

    mask: np.ndarray  # (n,) bool: for which of the elements
    thread: np.ndarray  # (n,) int: whose access it was
    tick: np.ndarray  # (n,) int: and when

    def per_element(self, width: int) -> "Conflict":
        """The same for elements of so many cells each."""
        if width == 1:
            return self
        mask = self.mask.reshape(-1, width)
        at = np.arange(len(mask)), mask.argmax(axis=1)
        thread, tick = self.thread.reshape(-1, width)[at], self.tick.reshape(-1, width)[at]
        return Conflict(np.asarray(mask.any(axis=1)), thread, tick)


class RecentThreads:
    """The last threads that touched each element: two different ones, and one of another block."""

    def __init__(self, size: int, across_blocks: bool) -> None:
        slots = 3 if across_blocks else 2
        self.tick = np.zeros((slots, size), np.int64)
        self.thread = np.zeros((slots, size), np.int32)

    def note(
        self, order: HappensBefore, element: np.ndarray, thread: np.ndarray, tick: int
    ) -> None:
        former_tick, former_thread = self.tick[0, element], self.thread[0, element]
        self.displace(order, element, former_thread, former_tick, thread)
        self.tick[0, element] = tick
        self.thread[0, element] = thread
        # Several threads may touch one element in one instruction; the last of them is kept above.
        kept = self.thread[0, element]
        self.displace(order, element, thread, np.full(thread.shape, tick), kept)

    def displace(
        self,
        order: HappensBefore,
        element: np.ndarray,
        thread: np.ndarray,
        tick: np.ndarray,
        newer: np.ndarray,
    ) -> None:
        """Keep (thread, tick) in the other slots where `newer` is another thread, or block."""
        other = (thread != newer) & (tick != NEVER)
        if not other.any():
            return
        self.tick[1, element[other]] = tick[other]
        self.thread[1, element[other]] = thread[other]
        if len(self.tick) < 3:
            return
        other &= order.block_of[thread] != order.block_of[newer]
        self.tick[2, element[other]] = tick[other]
        self.thread[2, element[other]] = thread[other]

    def conflicts(
        self, order: HappensBefore, element: np.ndarray, now: np.ndarray
    ) -> Iterator[Conflict]:
        for tick, thread in zip(self.tick, self.thread, strict=True):
            former_tick, former_thread = tick[element], thread[element]
            if former_tick.max(initial=0) <= order.earliest_grid_tick:
                continue
            mask = order.unordered(former_tick, former_thread, now)
            if mask.any():
                yield Conflict(mask, former_thread, former_tick)


class History:
    """When and by whom each element was written, read and changed atomically.

    size: number of elements. across_blocks: whether several blocks can reach them. cell_bytes:
    where arrays of different types overlap, an "element" here is a cell of so many bytes, of which
    an element of such an array has one or more; see `Memory.cells`.
    In all methods, element: (n,) int, its elements; thread: (n,) int, who touches them now.
    """

    def __init__(self, size: int, across_blocks: bool, cell_bytes: int = 0) -> None:
        self.size = size
        self.across_blocks = across_blocks
        self.cell_bytes = cell_bytes
        self.write_tick = np.zeros(size, np.int64)
        self.writer = np.zeros(size, np.int32)
        self.last_write_tick = NEVER  # of any element
        # (element, thread, tick) of reads that are not yet in `readers`, and how many elements
        self.unsorted_reads: list[tuple[np.ndarray, np.ndarray, int]] = []
        self.unsorted = 0
        self.readers: RecentThreads | None = None
        self.changers: RecentThreads | None = None
        self.last_acquired = np.zeros(0, bool)  # whether the last atomic looked; see racing_changes

    def ordered_before(self, order: HappensBefore) -> int:
        """No access up to this tick can race with one that happens now."""
        return order.earliest_grid_tick if self.across_blocks else order.earliest_block_tick

    def racing_writes(
        self, order: HappensBefore, element: np.ndarray, thread: np.ndarray
    ) -> Iterator[Conflict]:
        """Plain writes that are not in order with an access now."""
        tick = self.write_tick[element]
        if tick.max(initial=0) <= self.ordered_before(order):
            return
        writer = self.writer[element]
        mask = order.unordered(tick, writer, thread)
        if mask.any():
            yield Conflict(mask, writer, tick)

    def racing_changes(
        self, order: HappensBefore, element: np.ndarray, thread: np.ndarray
    ) -> Iterator[Conflict]:
        """Atomics that are not in order with an access now.

        Atomics on one element come one after the other. So if the last of them looked at what was
        there before, and is in order with an access now, then so are all before it.
        """
        assert self.changers is not None
        last_tick, last_thread = self.changers.tick[0][element], self.changers.thread[0][element]
        unordered = order.unordered(last_tick, last_thread, thread)
        after_all = self.last_acquired[element] & ~unordered
        for conflict in self.changers.conflicts(order, element, thread):
            mask = conflict.mask & ~after_all
            if mask.any():
                yield conflict._replace(mask=mask)

    def note_read(
        self, order: HappensBefore, element: np.ndarray, thread: np.ndarray, tick: int
    ) -> None:
        # Most arrays are only read, or read between two barriers: sorting the readers can wait
        # until someone writes, and is often not needed at all.
        self.unsorted_reads.append((element, thread, tick))
        self.unsorted += len(element)
        if self.unsorted > MAX_UNSORTED:
            self.sort_reads(order)

    def sort_reads(self, order: HappensBefore) -> None:
        ordered = self.ordered_before(order)
        pending = [read for read in self.unsorted_reads if read[2] > ordered]
        self.unsorted_reads, self.unsorted = [], 0
        if not pending:
            return
        if self.readers is None:
            self.readers = RecentThreads(self.size, self.across_blocks)
        for element, thread, tick in pending:
            self.readers.note(order, element, thread, tick)

    def forget_ordered_reads(self, order: HappensBefore) -> None:
        """After a barrier: drop reads that nothing can race with any more."""
        if self.unsorted_reads and self.unsorted_reads[-1][2] <= self.ordered_before(order):
            self.unsorted_reads, self.unsorted = [], 0

    def note_write(self, element: np.ndarray, thread: np.ndarray, tick: int) -> None:
        self.last_write_tick = tick
        self.write_tick[element] = tick
        self.writer[element] = thread

    def note_change(
        self,
        order: HappensBefore,
        element: np.ndarray,
        thread: np.ndarray,
        tick: int,
        acquires: bool,
    ) -> None:
        """acquires: whether the threads look at what was there before."""
        if self.changers is None:
            self.changers = RecentThreads(self.size, self.across_blocks)
            self.last_acquired = np.zeros(self.size, bool)
        self.changers.note(order, element, thread, tick)
        self.last_acquired[element] = acquires
