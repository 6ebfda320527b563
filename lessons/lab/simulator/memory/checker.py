"""Loads, stores and atomics of a team, with every check there is."""

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from lessons.lab.numba_types import Number, convert
from lessons.lab.simulator.memory.access import Access, Kind, name_element
from lessons.lab.simulator.memory.arrays import ArrayView, Memory
from lessons.lab.simulator.memory.races import RaceChecker
from lessons.lab.simulator.memory.recorder import Recorder
from lessons.lab.simulator.reporter import Reporter
from lessons.lab.simulator.stops import Unsupported
from lessons.lab.simulator.teams import Launch, Mask, Team, first_of

INT64 = np.dtype(np.int64)

# (old, new, position of the thread) -> what an atomic leaves; all are NumPy scalars.
Operation: TypeAlias = Callable[[Any, Any, Any], Any]


def atomic_add(old: Any, new: Any, position: Any) -> Any:
    return old + new


class MemoryChecker:
    """Does what a team's loads, stores and atomics do, and looks for every mistake in them.

    In all methods, mask: the threads that take part. indices: one number per dimension. node:
    where in the kernel, for the findings.
    """

    def __init__(self, launch: Launch, team: Team, reporter: Reporter, recorder: Recorder) -> None:
        self.launch = launch
        self.team = team
        self.reporter = reporter
        self.recorder = recorder
        self.races = RaceChecker(launch, reporter)
        self.unused_result: ast.expr | None = None  # a call whose result nobody looks at
        self.known_mask: Mask | None = None
        self.known_positions: np.ndarray | None = None

    def load(
        self, view: ArrayView, indices: Sequence[Number], mask: Mask, node: ast.expr
    ) -> Number | ArrayView:
        """Value of view[indices]; a smaller `ArrayView` if some indices are missing."""
        memory = view.memory
        element, mask = self.locate(view, indices, mask, node)
        if len(indices) < len(view.shape):
            rest = len(indices)
            return ArrayView(memory, element, view.shape[rest:], view.strides[rest:])
        positions = self.positions(mask)
        if positions is not None and len(positions) == 0:
            return np.zeros(self.team.size, memory.data.dtype)
        same_for_all = np.ndim(element) == 0
        touched = element if positions is None or same_for_all else element[positions]
        if memory.space != "constant":
            self.check(memory, touched, positions, "read", node)
        if positions is None or same_for_all:
            return memory.data[element]
        result = np.zeros(self.team.size, memory.data.dtype)
        result[positions] = memory.data[touched]
        return result

    def store(
        self, view: ArrayView, indices: Sequence[Number], value: Number, mask: Mask, node: ast.expr
    ) -> None:
        """view[indices] = value"""
        memory = view.memory
        if memory.space == "constant":
            raise Unsupported(node, f"{memory.name} is a constant array and cannot be written")
        element, mask = self.locate(view, indices, mask, node)
        positions = self.positions(mask)
        if positions is not None and len(positions) == 0:
            return
        value = convert(value, memory.data.dtype)
        touched = self.team.full(element)
        if positions is not None:
            touched = touched[positions]
            value = value[positions] if isinstance(value, np.ndarray) else value
        self.check(memory, touched, positions, "write", node, value)
        memory.data[touched] = value

    def change(
        self,
        view: ArrayView,
        indices: Sequence[Number],
        value: Number,
        operation: Operation,
        mask: Mask,
        node: ast.expr,
    ) -> np.ndarray | None:
        """Atomics: threads in turn replace old by operation(old, value, position).

        Returns what each thread found, or None for a sum that nobody looks at.
        """
        memory = view.memory
        if len(indices) != len(view.shape):
            raise Unsupported(
                node,
                f"{memory.name} has {len(view.shape)} dimensions; give an index for each",
            )
        element, mask = self.locate(view, indices, mask, node)
        active = np.flatnonzero(mask)
        old = np.zeros(self.team.size, memory.data.dtype)
        if len(active) == 0:
            return old
        touched = self.team.full(element)[active]
        values = self.team.full(convert(value, memory.data.dtype))
        self.check(memory, touched, self.positions(mask), "atomic", node)
        if memory.space == "shared" and memory.data.dtype.kind == "f":
            self.reporter.add(
                "slow",
                node,
                "a GPU has no atomic for floats in shared memory: this becomes a loop of "
                "compare-and-swap; let each thread write its own element and sum after a barrier",
                advice=True,
            )
        if node is self.unused_result and operation is atomic_add:
            np.add.at(memory.data, touched, values[active])
            return None
        for position, place in zip(active, touched, strict=True):
            old[position] = memory.data[place]
            memory.data[place] = operation(memory.data[place], values[position], position)
        return old

    # ---------------------------------------------------------------- which threads and elements

    def positions(self, mask: Mask) -> np.ndarray | None:
        """Positions of the threads in `mask`, or None if it holds every thread of the team."""
        if mask is not self.known_mask:
            positions = np.flatnonzero(mask)
            self.known_mask = mask
            self.known_positions = None if len(positions) == len(mask) else positions
        return self.known_positions

    def locate(
        self, view: ArrayView, indices: Sequence[Number], mask: Mask, node: ast.expr
    ) -> tuple[Any, Mask]:
        """(element, mask): what each thread addresses, without the threads that miss the array.

        element: one number for all, or (team.size,) int.
        """
        element: Any = view.offset
        for axis, (index, length, stride) in enumerate(
            zip(indices, view.shape, view.strides, strict=False)
        ):
            if index.dtype.kind not in "iu":
                raise Unsupported(
                    node,
                    f"index {axis} of {view.memory.name} is a {index.dtype}; an index must "
                    "be a whole number: write int32(...)",
                )
            index = convert(index, INT64)
            # Seen as unsigned, a negative index is a huge one: one comparison checks both ends.
            outside = index.view(np.uint64) >= np.uint64(max(0, int(length)))
            if outside.any():
                wrong = mask & outside
                if wrong.any():
                    self.report_outside(view, indices, axis, wrong, node)
                    mask = mask & ~outside
                index = np.where(outside, 0, index)
            element = element + index * stride
        return element, mask

    def report_outside(
        self, view: ArrayView, indices: Sequence[Number], axis: int, wrong: Mask, node: ast.expr
    ) -> None:
        position = first_of(wrong)
        place = [int(self.team.full(index)[position]) for index in indices]
        where = ", ".join(map(str, place))
        value, length = place[axis], int(view.shape[axis])
        problem = (
            f"index {value} of axis {axis} is negative: it would count from the end"
            if value < 0
            else f"axis {axis} has only the indices 0 to {length - 1}"
            if length
            else f"axis {axis} is empty"
        )
        self.reporter.add(
            "out-of-bounds",
            node,
            f"{view.memory.name}[{where}] is outside its shape {tuple(map(int, view.shape))}: "
            f"{problem}; "
            f"{self.reporter.name_all(wrong)}. Is a guard such as "
            "`if i >= n: return` missing, or off by one?",
            key=view.memory.name,
        )

    # ---------------------------------------------------------------- checks

    def check(
        self,
        memory: Memory,
        element: Any,
        positions: np.ndarray | None,
        kind: Kind,
        node: ast.expr,
        value: Number | None = None,
    ) -> None:
        """Look for races and missing initialisation, count the traffic, remember the access.

        element: one number for all threads that take part, or one for each.
        """
        self.launch.instruction += 1
        thread = self.team.threads if positions is None else self.team.threads[positions]
        if np.ndim(element) == 0:
            element = np.full(len(thread), element)
        access = Access(memory, element, positions, thread, kind, node, value)
        if memory.initialised is not None:
            self.check_initialised(access, memory.initialised)
        if memory.history is not None:
            self.races.check(access, memory.history)
        self.recorder.record(access)

    def check_initialised(self, access: Access, initialised: np.ndarray) -> None:
        memory, element = access.memory, access.element
        if access.kind == "write":
            initialised[element] = True
            return
        known = initialised[element]
        if known.all():
            return
        first = first_of(~known)
        advice = "is a barrier or a store missing?" if memory.space == "shared" else "set it first"
        self.reporter.add(
            "uninitialised",
            access.node,
            f"{name_element(memory, element[first])} is read by "
            f"{self.launch.name_thread(access.thread[first])}, but nobody has written it "
            f"yet; {memory.space} memory starts with garbage on a GPU: {advice}",
            key=memory.name,
        )
        initialised[element] = True
