"""Find data races: two accesses to one element that nothing puts in order."""

import ast
from collections.abc import Iterable

import numpy as np

from ...numba_types import Condition, Number
from ...source import Source
from ..findings import Place
from ..reporter import Reporter, name_of
from ..teams import Launch, Mask, first_of
from .access import Access, Kind, name_element, place_of_element
from .data_flow import chosen_by_data
from .history import Conflict, History
from .race_sides import Side
from .remedies import all_in_one_warp, is_shift, remedy, remedy_of_stores

NOTHING_TO_READ = "nobody has written before what is read here: is it the element that was meant?"
VERBS = {"read": "reads {}", "write": "writes {}", "atomic": "changes {} atomically"}


class RaceChecker:
    """Compares each access of a team with what is known of its elements, and notes it there."""

    def __init__(self, launch: Launch, reporter: Reporter) -> None:
        self.launch = launch
        self.order = launch.happens_before
        self.reporter = reporter
        # What the team has done since it last came to the same place, and when that was.
        self.round: set[tuple[ast.expr, Kind]] = set()
        self.round_began = 0

    def check(self, access: Access, history: History) -> None:
        memory, kind, thread = access.memory, access.kind, access.thread
        tick = self.order.next_tick()
        if (access.node, kind) in self.round:
            self.round.clear()
            self.round_began = tick
        self.round.add((access.node, kind))
        stack = self.reporter.stack
        place = stack.source, access.node, stack.frame.calls, stack.users_call
        self.launch.place_of_tick[tick] = place
        element, width = access.element, 1
        if history.cell_bytes:
            cells = memory.cells(element)
            width = cells.shape[1]
            element, thread = cells.reshape(-1), np.repeat(thread, width)
        if history.last_write_tick > history.ordered_before(self.order):
            writes = history.racing_writes(self.order, element, thread)
            self.report_all(access, writes, width, "write")
        if kind != "atomic" and history.changers is not None:
            changes = history.racing_changes(self.order, element, thread)
            self.report_all(access, changes, width, "atomic")
        if kind == "read":
            history.note_read(self.order, element, thread, tick)
            return
        history.sort_reads(self.order)
        if history.readers is not None:
            reads = history.readers.conflicts(self.order, element, thread)
            self.report_all(access, reads, width, "read")
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
        key = (memory.name, access.node.lineno)
        if not lost.any() or self.reporter.has("race", access.node, key):
            return
        block_of = self.order.block_of
        across = lost & (block_of[access.thread] != block_of[kept])
        first = first_of(across if across.any() else lost)
        name_thread = self.launch.name_thread
        here = self.reporter.stack.source
        one, other = (
            Side(t, "write", here, access.node, memory, self.reporter.stack.frame.calls)
            for t in (access.thread[first], kept[first])
        )
        advice = remedy_of_stores(one, other, bool(across.any()))
        advice += told_behind(self.axis_left_out(one, other))
        self.reporter.add(
            "race",
            access.node,
            f"{name_element(memory, access.element[first])} is written by "
            f"{name_thread(access.thread[first])} and by {name_thread(kept[first])} with "
            f"different values, and only one of them stays: {advice}",
            key=key,
            access=first,
            place=self.place(
                access, first, kept[first], self.reporter.stack.source.filename, access.node.lineno
            ),
        )

    def report_all(
        self, access: Access, conflicts: Iterable[Conflict], width: int, former_kind: Kind
    ) -> None:
        """Those between blocks first: what puts them in order does so within a block, too."""
        narrow = [conflict.per_element(width) for conflict in conflicts]
        for conflict in sorted(narrow, key=lambda c: not self.between_blocks(access, c).any()):
            self.report(access, conflict, former_kind)

    def between_blocks(self, access: Access, conflict: Conflict) -> Mask:
        block_of = self.order.block_of
        across: Mask = conflict.mask & (block_of[access.thread] != block_of[conflict.thread])
        return across

    def report(self, access: Access, conflict: Conflict, former_kind: Kind) -> None:
        memory, mask = access.memory, conflict.mask
        if access.value is not None and former_kind == "write":
            # Threads that store the same value ("found = 1") do not disturb each other.
            mask = mask & differ(memory.data[access.element], access.value)
            if not mask.any():
                return
        across = mask & self.between_blocks(access, conflict)
        first = first_of(across if across.any() else mask)
        thread, former_thread = access.thread[first], conflict.thread[first]
        here = self.reporter.stack.source
        tick = int(conflict.tick[first])
        source, node, calls, call = self.launch.place_of_tick[tick]
        same_warp = all_in_one_warp(self.order, access.thread[mask], conflict.thread[mask])
        own = self.reporter.stack.frame.calls
        now = Side(thread, access.kind, here, access.node, memory, own)
        former = Side(former_thread, former_kind, source, node, memory, calls)
        does = VERBS[access.kind].format(name_element(memory, access.element[first]))
        did = VERBS[former_kind].format("it")
        name, file, line = memory.name, source.filename, node.lineno
        where = f"line {line}" if source is here else f"line {line} of {name_of(source)}"
        if call is not None:  # who calls a function of Numba's own knows only that line
            name, file, line = (memory.whole or memory).name, call[0].filename, call[1]
            where = f"called in line {line}"
        if self.reporter.has("race", access.node, (name, file, line)):
            return
        same_round = tick >= self.round_began
        advice = remedy(self.order, now, former, tick, same_warp, same_round)
        if is_shift(now, former) and self.reporter.has("uninitialised", node, memory.name):
            advice = NOTHING_TO_READ
        axis = self.axis_left_out(now, former) if same_round else ""
        if axis and now.kind == former.kind == "write":
            advice = f"{axis} If all of them need it, let one of them store it"
        else:
            advice += told_behind(axis)
        self.reporter.add(
            "race",
            access.node,
            f"{self.launch.name_thread(thread)} {does}, "
            f"{self.launch.name_thread(former_thread)} {did} ({where}), and "
            f"nothing puts the two in order: {advice}",
            key=(name, file, line),
            access=first,
            place=self.place(access, first, former_thread, file, line),
        )

    def axis_left_out(self, now: Side, former: Side) -> str:
        """A hint if two threads of one block differ along one of several axes; else ""."""
        places = [self.launch.place_of(side.thread) for side in (now, former)]
        several_axes = sum(size > 1 for size in self.launch.block) > 1
        if not several_axes or places[0].block != places[1].block:
            return ""
        if len({ast.unparse(side.node) for side in (now, former)}) > 1:
            return ""
        if not isinstance(now.node, ast.Subscript) or not chosen_by_position(now.node, now.source):
            return ""
        threads = [place.thread or (0, 0, 0) for place in places]
        axes = [axis for axis, one, other in zip("xyz", *threads, strict=True) if one != other]
        if len(axes) != 1:
            return ""
        return f"the two threads differ in threadIdx.{axes[0]} only: does the index leave it out?"

    def place(self, access: Access, first: int, other: int, file: str, line: int) -> Place:
        """Both threads of a race, and the element. other, file, line: of the former access."""
        place = self.launch.place_of(access.thread[first], other)
        place = place._replace(other_file=file, other_line=line)
        return place_of_element(place, access.memory, access.element[first])


def chosen_by_position(element: ast.Subscript, source: Source) -> bool:
    """Whether an index is computed, and of nothing that comes from memory."""
    names = any(isinstance(part, (ast.Name, ast.Attribute)) for part in ast.walk(element.slice))
    return names and not chosen_by_data(source, element)


def differ(stored: np.ndarray, value: Number) -> Condition:
    """Where two values are not the same.

    A NaN that all threads store is the same as NaN. Where each thread stores its own, NaN says
    nothing of whether two would store the same from other inputs.
    """
    different: Condition = stored != value
    if np.ndim(value) == 0:
        return different & ~((stored != stored) & (value != value))
    return different


def told_behind(sentence: str) -> str:
    """What comes behind an advice: a sentence of its own."""
    return f". {sentence[0].upper()}{sentence[1:]}" if sentence else ""
