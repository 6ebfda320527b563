"""Record a run step by step, with the values in its arrays, for the replay."""

import ast
from collections.abc import Sequence

import numpy as np

from ..events import (
    MOST_FIRST_THREADS,
    MOST_LAST_THREADS,
    ArrayFacts,
    Recording,
    Step,
)
from ..frames import CallStack
from ..teams import Launch, Mask, Team
from .access import Access
from .arrays import Memory
from .layout import layout_of, row_major

MOST_THREADS = MOST_FIRST_THREADS + MOST_LAST_THREADS
MOST_INITIAL_VALUES = 4096


class StepRecorder:
    """Adds the steps of one team to the recording of a run."""

    def __init__(self, launch: Launch, team: Team, stack: CallStack) -> None:
        self.launch = launch
        self.team = team
        self.stack = stack
        self.recording = launch.report.recording

    def access(self, access: Access, marked: Sequence[int]) -> None:
        """An instruction that is about to touch an array. marked: see `AccessEvent`."""
        memory, node = access.memory, access.node
        kept = kept_threads(len(access.thread), marked)
        thread, element = access.thread[kept], access.element[kept]
        wrong = [int(access.element[number]) for number in marked]
        self.add(access.kind, node, thread, element, len(access.thread), memory, wrong)

    def outside(
        self, memory: Memory, threads: np.ndarray, node: ast.expr, wanted: Sequence[np.ndarray]
    ) -> None:
        """Accesses that miss an array. wanted: see `Recorder.keep_outside`."""
        kept = kept_threads(len(threads))
        indices = np.stack([*map(np.asarray, wanted)], axis=-1)[kept] if len(wanted) else None
        nowhere = np.full(len(threads[kept]), -1)
        self.add("outside", node, threads[kept], nowhere, len(threads), memory, (), indices)

    def branch(self, node: ast.stmt, taken: Mask, not_taken: Mask) -> None:
        """An `if` at which threads part; nothing where all go the same way."""
        if taken.any() and not_taken.any():
            positions = np.flatnonzero(taken | not_taken)
            kept = positions[kept_threads(len(positions))]
            self.add("branch", node, self.team.threads[kept], taken[kept], len(positions))

    def note(self, kind: str, node: ast.AST, mask: Mask) -> None:
        positions = np.flatnonzero(mask)
        kept = positions[kept_threads(len(positions))]
        self.add(kind, node, self.team.threads[kept], None, len(positions))

    def add(
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
        recording = self.recording
        if recording is None:
            return
        recording.settle()
        if memory is None or element is None or kind == "outside":
            shown = element
        else:
            shown, marked = row_major(memory, element), row_major(memory, np.array(marked, int))
        found = len(self.launch.report.findings)
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
