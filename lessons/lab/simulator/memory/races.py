"""Find data races: two accesses to one element that nothing puts in order."""

import numpy as np

from ...numba_types import Condition, Number
from ..findings import Place
from ..reporter import Reporter, name_of
from ..teams import Launch, first_of
from .access import Access, Kind, name_element, place_of_element
from .history import Conflict, History
from .remedies import Side, all_in_one_warp, remedy

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
        self.launch.place_of_tick[tick] = (self.reporter.stack.source, access.node)
        element, width = access.element, 1
        if history.cell_bytes:
            cells = memory.cells(element)
            width = cells.shape[1]
            element, thread = cells.reshape(-1), np.repeat(thread, width)
        for conflict in history.racing_writes(self.order, element, thread):
            self.report(access, conflict.per_element(width), "write")
        if kind != "atomic":
            for conflict in history.racing_changes(self.order, element, thread):
                self.report(access, conflict.per_element(width), "atomic")
        if kind == "read":
            history.note_read(self.order, element, thread, tick)
            return
        for conflict in history.racing_reads(self.order, element, thread):
            self.report(access, conflict.per_element(width), "read")
        if kind == "atomic":
            history.note_change(self.order, element, thread, tick, access.acquires)
            first = element[::width]
            self.order.fences.atomics(self.order, history, first, access.thread, access.acquires)
            return
        history.note_write(element, thread, tick)
        self.check_same_instruction(access, history.writer[element[::width]])

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
            access=first,
            place=self.place(
                access, first, kept[first], self.reporter.stack.source.filename, access.node.lineno
            ),
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
        tick = int(conflict.tick[first])
        source, node = self.launch.place_of_tick[tick]
        line = node.lineno
        same_warp = all_in_one_warp(self.order, access.thread[mask], conflict.thread[mask])
        now = Side(thread, access.kind == "atomic", here, access.node)
        former = Side(former_thread, former_kind == "atomic", source, node)
        where = f"line {line}" if source is here else f"line {line} of {name_of(source)}"
        self.reporter.add(
            "race",
            access.node,
            f"{self.launch.name_thread(thread)} {VERBS[access.kind]} "
            f"{name_element(memory, access.element[first])}, "
            f"{self.launch.name_thread(former_thread)} {VERBS[former_kind]} it ({where}), and "
            "nothing puts the two in order: "
            f"{remedy(self.order, now, former, tick, same_warp)}",
            key=(memory.name, source.filename, line),
            access=first,
            place=self.place(access, first, former_thread, source.filename, line),
        )

    def place(self, access: Access, first: int, other: int, file: str, line: int) -> Place:
        """Both threads of a race, and the element. other, file, line: of the former access."""
        there = self.launch.place_of(other)
        place = self.launch.place_of(access.thread[first])._replace(
            other_thread=there.thread,
            other_block=there.block,
            other_file=file,
            other_line=line,
        )
        return place_of_element(place, access.memory, access.element[first])


def differ(stored: np.ndarray, value: Number) -> Condition:
    """Where two values are not the same.

    A NaN that all threads store is the same as NaN. Where each thread stores its own, NaN says
    nothing of whether two would store the same from other inputs.
    """
    different: Condition = stored != value
    if np.ndim(value) == 0:
        return different & ~((stored != stored) & (value != value))
    return different
