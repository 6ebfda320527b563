"""What a run keeps: traffic per source line, events for the picture, steps for the replay."""

import ast
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..events import MOST_FIRST_THREADS, MOST_LAST_THREADS, AccessEvent, ArrayFacts, Recording, Step
from ..frames import CallStack
from ..teams import WARP, Launch, Mask, Team
from ..traffic import Traffic, count_atomic, count_branch, count_global, count_shared
from .access import Access, layout_of, row_major
from .arrays import Memory

# ---------------------------------------------------------------- steps for the replay


MOST_THREADS = MOST_FIRST_THREADS + MOST_LAST_THREADS
MOST_INITIAL_VALUES = 4096


def kept_threads(count: int, marked: Sequence[int] = ()) -> slice | np.ndarray:
    """Which of `count` threads to keep: all, or the first, the last and the marked ones."""
    if count <= MOST_THREADS:
        return slice(None)
    first, last = np.arange(MOST_FIRST_THREADS), np.arange(count - MOST_LAST_THREADS, count)
    return np.unique(np.concatenate([first, last, np.asarray(marked, np.int64)]))


def number_of(recording: Recording, memory: Memory) -> int:
    """The number of an array among those of a recording, where it is put if it is new."""
    if memory not in recording.numbers:
        facts = facts_of(memory)
        # Several teams have local arrays of their own; they are shown as one.
        alike = [n for n, array in enumerate(recording.arrays) if array[:5] == facts[:5]]
        local = memory.space == "local" and alike
        recording.numbers[memory] = alike[0] if local else len(recording.arrays)
        if not local:
            recording.arrays.append(facts)
    return recording.numbers[memory]


def facts_of(memory: Memory) -> ArrayFacts:
    layout = layout_of(memory)
    address = memory.address + layout.first
    initial = None
    if memory.space == "global" and memory.whole is None and layout.strides is None:
        initial = memory.data[:MOST_INITIAL_VALUES].copy()
    first = memory.data.__array_interface__["data"][0]
    return ArrayFacts(
        name=layout.name,
        space=memory.space,
        shape=layout.shape,
        dtype=memory.data.dtype,
        address=address,
        strides=layout.strides,
        initial=initial,
        place=range(first, first + memory.data.size * memory.pitch),
    )


# ---------------------------------------------------------------- traffic and events


MAX_EVENTS = 400
MAX_UNCOUNTED = 1 << 18  # accesses of threads


class Counted(NamedTuple):
    """Accesses that are counted together."""

    traffic: int  # the id of the line's
    space: str
    kind: str
    itemsize: int
    array: str
    line: int  # of the kernel


PLAIN_CALLS = ("float32", "int32", "uint32", "int64", "uint64", "min", "max", "abs")


@functools.lru_cache(maxsize=64)
def read_again(tree: ast.FunctionDef) -> frozenset[ast.expr]:
    """Elements that one statement names a second time, as `a[i] * a[i]` does.

    A compiler reads them once, so they count once. Where a function is called in between that may
    store, or where none of the two is read in any case, each counts.
    """
    again: set[ast.expr] = set()
    for statement in ast.walk(tree):
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.stmt) or value is None or calls_a_function(value):
            continue
        parts = [part for part in ast.walk(value) if isinstance(part, ast.Subscript)]
        sure = surely(value)
        first: dict[str, ast.expr] = {ast.unparse(p): p for p in reversed(parts) if p in sure}
        if isinstance(statement, ast.AugAssign):
            first[ast.unparse(statement.target)] = statement.target
        again |= {part for part in parts if first.get(ast.unparse(part), part) is not part}
    return frozenset(again)


def surely(node: ast.expr) -> set[ast.AST]:
    """The parts of an expression that are computed whatever its conditions are."""
    waiting: list[ast.AST] = [node]
    found: set[ast.AST] = set()
    while waiting:
        part = waiting.pop()
        found.add(part)
        if isinstance(part, ast.IfExp):
            waiting.append(part.test)
        elif isinstance(part, ast.BoolOp):
            waiting.append(part.values[0])
        else:
            waiting += ast.iter_child_nodes(part)
    return found


def calls_a_function(node: ast.expr) -> bool:
    """Whether an expression calls more than conversions and mathematics."""
    calls = (ast.unparse(part.func) for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(name not in PLAIN_CALLS and not name.startswith("math.") for name in calls)


class Recorder:
    """Counts and keeps the accesses of a team in the launch's report."""

    def __init__(self, launch: Launch, team: Team, stack: CallStack) -> None:
        self.launch = launch
        self.team = team
        self.stack = stack
        self.report = launch.report
        # (addresses, active threads) as (warps, 32) tables, by what has to be counted of them
        self.uncounted: dict[Counted, tuple[Traffic, list[tuple[np.ndarray, np.ndarray]]]] = {}
        self.uncounted_size = 0
        self.everybody = np.ones((team.size // WARP, WARP), bool)

    def record(self, access: Access, problem: str, marked: Sequence[int]) -> None:
        """problem, marked: see `AccessEvent`."""
        if self.launch.options.measure and access.memory.space in ("global", "shared"):
            if access.kind != "read" or access.node not in read_again(self.stack.source.tree):
                self.count_access(access)
        if self.launch.options.record:
            memory = access.memory
            element = access.element % memory.instance
            self.keep(memory, access.thread, element, access.kind, access.node, problem, marked)
            count = len(access.thread)
            kept, wrong = kept_threads(count, marked), access.element[list(marked)]
            thread, element = access.thread[kept], access.element[kept]
            self.add_step(access.kind, access.node, thread, element, count, memory, wrong)

    def keep_outside(
        self, memory: Memory, threads: np.ndarray, node: ast.expr, wanted: Sequence[np.ndarray] = ()
    ) -> None:
        """Keep an event for accesses that miss an array.

        threads: (n,) int, their numbers in the launch. wanted: (n,) int per dimension, the indices.
        """
        self.launch.instruction += 1
        problem = self.report.findings[-1].message
        nowhere, kept = np.full(len(threads), -1), kept_threads(len(threads))
        self.keep(memory, threads, nowhere, "outside", node, problem)
        indices = np.stack([*map(np.asarray, wanted)], axis=-1)[kept] if len(wanted) else None
        place = threads[kept], nowhere[kept], len(threads)
        self.add_step("outside", node, *place, memory, (), indices)

    def note(self, kind: str, node: ast.expr | ast.stmt, mask: Mask) -> None:
        """Keep for the replay that the threads in `mask` wait or return here; see `Step.kind`.

        A barrier of the block is counted.
        """
        if self.launch.options.measure and kind == "barrier":
            warps = mask.reshape(-1, WARP).any(axis=1)
            self.traffic_of_line(node).barriers += int(np.count_nonzero(warps))
        if self.launch.options.record:
            self.add_step_of_mask(kind, node, mask)

    def count_access(self, access: Access) -> None:
        """Count an access: not at once, because many small tables take longer than a large one."""
        memory = access.memory
        traffic = self.traffic_of_line(access.node, memory.name)
        element, active = self.in_warps(access)
        within = element % memory.instance if memory.space == "shared" else element
        address = memory.address + within * memory.pitch
        itemsize = memory.data.itemsize
        line = self.stack.line_of_kernel or access.node.lineno
        if access.kind == "atomic" and memory.data.dtype.kind == "f":
            self.report.work.floats.add(memory.name)
        kind = Counted(id(traffic), memory.space, access.kind, itemsize, memory.name, line)
        self.uncounted.setdefault(kind, (traffic, []))[1].append((address, active))
        self.uncounted_size += address.size
        if self.uncounted_size > MAX_UNCOUNTED:
            self.count_all()

    def count_all(self) -> None:
        """Count the accesses that were put off."""
        work, block = self.report.work, self.team.block_number[::WARP]
        for (_, space, kind, itemsize, array, line), (traffic, tables) in self.uncounted.items():
            address = np.concatenate([table for table, _ in tables])
            active = np.concatenate([table for _, table in tables])
            if kind == "atomic":
                count_atomic(traffic, address, active)
            if space == "shared":
                count_shared(traffic, address, active, kind)
            else:
                count_global(traffic, address, active, itemsize, kind)
                work.touch(array, kind, address, active, np.tile(block, len(tables)))
            work.requests[line, space] += int(np.count_nonzero(active.any(axis=1)))
        self.uncounted.clear()
        self.uncounted_size = 0

    def in_warps(self, access: Access) -> tuple[np.ndarray, np.ndarray]:
        """(elements, active threads) as (warps, 32) tables."""
        size = self.team.size
        if access.positions is None:
            return access.element.reshape(-1, WARP), self.everybody
        element, active = np.zeros(size, np.int64), np.zeros(size, bool)
        element[access.positions] = access.element
        active[access.positions] = True
        return element.reshape(-1, WARP), active.reshape(-1, WARP)

    def count_branch(self, node: ast.stmt, taken: Mask, not_taken: Mask) -> None:
        if self.launch.options.measure:
            traffic = self.traffic_of_line(node)
            count_branch(traffic, taken.reshape(-1, WARP), not_taken.reshape(-1, WARP))
        # Else all go the same way.
        if self.launch.options.record and taken.any() and not_taken.any():
            self.add_step_of_mask("branch", node, taken | not_taken, taken)

    def traffic_of_line(self, node: ast.expr | ast.stmt, array: str = "") -> Traffic:
        """What is counted for a line and an array; "" for what belongs to none."""
        source = self.stack.source
        key = (source.filename, node.lineno, array)
        if key not in self.report.counted:
            self.report.counted[key] = Traffic(source.line(node.lineno))
        return self.report.counted[key]

    def keep(
        self,
        memory: Memory,
        threads: np.ndarray,
        element: np.ndarray,
        kind: str,
        node: ast.expr,
        problem: str,
        marked: Sequence[int] = (),
    ) -> None:
        """Keep an event, if there is still room or something is wrong with it."""
        if len(self.report.events) >= MAX_EVENTS and not problem:
            self.report.events_left_out += 1
            return
        self.report.events.append(
            AccessEvent(
                phase=self.launch.phase,
                order=self.launch.instruction,
                line=node.lineno,
                source=self.stack.source.line(node.lineno),
                array=memory.name,
                space=memory.space,
                kind=kind,
                shape=tuple(int(n) for n in memory.shape),
                block=threads // self.launch.padded_threads_per_block,
                thread=threads % self.launch.padded_threads_per_block,
                element=element,
                problem=problem,
                marked=tuple(marked),
            )
        )

    # ------------------------------------------------------------ steps for the replay

    def add_step_of_mask(
        self, kind: str, node: ast.AST, mask: Mask, element: np.ndarray | None = None
    ) -> None:
        """element: (team.size,) what each thread does; see `Step`."""
        positions = np.flatnonzero(mask)
        kept = positions[kept_threads(len(positions))]
        shown = None if element is None else element[kept]
        self.add_step(kind, node, self.team.threads[kept], shown, len(positions))

    def add_step(
        self,
        kind: str,
        node: ast.AST,
        thread: np.ndarray,
        element: np.ndarray | None,
        threads: int,
        memory: Memory | None = None,
        marked: Sequence[int] | np.ndarray = (),
        wanted: np.ndarray | None = None,
    ) -> None:
        recording = self.report.recording
        if recording is None:
            return
        recording.settle()
        if memory is None or element is None or kind == "outside":
            shown = element
        else:
            shown = row_major(memory, element)
            marked = row_major(memory, np.array(marked, int)) if len(marked) else ()
        found = len(self.report.findings)
        values: list[np.ndarray] = []
        step = Step(
            kind=kind,
            phase=self.launch.phase,
            source=self.stack.source,
            line=getattr(node, "lineno", self.stack.source.tree.lineno),
            array=-1 if memory is None else number_of(recording, memory),
            thread=thread,
            element=shown,
            threads=threads,
            findings=tuple(range(recording.findings_seen, found)),
            marked=tuple(int(number) for number in marked),
            values=values,
            wanted=wanted,
        )
        recording.findings_seen = found
        if memory is not None and element is not None and kind != "outside":
            # Now the array still is as it was before; the next step comes when it is changed.
            recording.unsettled = memory.data, element, values
        recording.add(step)
