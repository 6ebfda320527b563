"""Find data races: two accesses to one element that nothing puts in order."""

import numpy as np

from lessons.lab.numba_types import Condition, Number
from lessons.lab.simulator.memory.access import Access, Kind, name_element
from lessons.lab.simulator.memory.history import Conflict, History
from lessons.lab.simulator.reporter import Reporter, name_of
from lessons.lab.simulator.teams import Launch, first_of

VERBS = {"read": "reads", "write": "writes", "atomic": "changes atomically"}


class RaceChecker:
    """Compares each access of a team with what is known of its elements, and notes it there."""

    def __init__(self, launch: Launch, reporter: Reporter) -> None:
        self.launch = launch
        self.order = launch.happens_before
        self.reporter = reporter

    def check(self, access: Access, history: History) -> None:
        memory, kind, thread = access.memory, access.kind, access.thread
        tick = self.order.next_tick()
        self.launch.place_of_tick[tick] = (self.reporter.stack.source, access.node.lineno)
        element = access.element
        if memory.first_in_history:
            element = element + memory.first_in_history
        for conflict in history.racing_writes(self.order, element, thread):
            self.report(access, conflict, "write")
        if kind != "atomic":
            for conflict in history.racing_changes(self.order, element, thread):
                self.report(access, conflict, "atomic")
        if kind == "read":
            history.note_read(self.order, element, thread, tick)
            return
        for conflict in history.racing_reads(self.order, element, thread):
            self.report(access, conflict, "read")
        if kind == "atomic":
            history.note_change(self.order, element, thread, tick)
            return
        history.note_write(element, thread, tick)
        self.check_same_instruction(access, history.writer[element])

    def check_same_instruction(self, access: Access, kept: np.ndarray) -> None:
        """Two threads that store to one element in one instruction: only one of the values stays.

        kept: (n,) int: the thread whose value stays.
        """
        memory, value = access.memory, access.value
        lost = kept != access.thread
        if not lost.any() or value is None or np.ndim(value) == 0:
            return
        memory.data[access.element] = value
        lost &= differ(memory.data[access.element], value)
        if not lost.any():
            return
        first = first_of(lost)
        name_thread = self.launch.name_thread
        self.reporter.add(
            "race",
            access.node,
            f"{name_element(memory, access.element[first])} is written by "
            f"{name_thread(access.thread[first])} and by {name_thread(kept[first])} with "
            "different values, and only one of them stays. Give each thread an element of its "
            "own, or add with cuda.atomic.add",
            key=(memory.name, access.node.lineno),
        )

    def report(self, access: Access, conflict: Conflict, former_kind: Kind) -> None:
        memory, mask = access.memory, conflict.mask
        if access.value is not None and former_kind == "write":
            # Threads that store the same value ("found = 1") do not disturb each other.
            mask = mask & differ(memory.data[access.element], access.value)
            if not mask.any():
                return
        first = first_of(mask)
        thread, former_thread = access.thread[first], conflict.thread[first]
        here = self.reporter.stack.source
        source, line = self.launch.place_of_tick.get(int(conflict.tick[first]), (here, 0))
        where = f"line {line}" if source is here else f"line {line} of {name_of(source)}"
        self.reporter.add(
            "race",
            access.node,
            f"{self.launch.name_thread(thread)} {VERBS[access.kind]} "
            f"{name_element(memory, access.element[first])}, "
            f"{self.launch.name_thread(former_thread)} {VERBS[former_kind]} it ({where}), and "
            "nothing puts the two in order: "
            f"{self.remedy(thread, former_thread, access.kind, former_kind)}",
            key=(memory.name, source.filename, line),
        )

    def remedy(self, thread: int, former_thread: int, kind: Kind, former_kind: Kind) -> str:
        if "atomic" in (kind, former_kind):
            return "an atomic protects only against other atomics; put a barrier between them"
        block_of, warp_of = self.order.block_of, self.order.warp_of
        if block_of[thread] != block_of[former_thread]:
            return (
                "blocks run in any order, and cuda.syncthreads() does not reach across them; use "
                "an atomic, or one launch after the other"
            )
        if warp_of[thread] == warp_of[former_thread]:
            return (
                "put cuda.syncthreads() between them (cuda.syncwarp() is enough within one warp; "
                "threads of a warp are not in step by themselves)"
            )
        return "put cuda.syncthreads() between them"


def differ(stored: np.ndarray, value: Number) -> Condition:
    """Where two values are not the same; NaN is the same as NaN."""
    return (stored != value) & ~((stored != stored) & (value != value))
