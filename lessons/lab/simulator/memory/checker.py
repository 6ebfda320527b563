"""Loads, stores and atomics: bounds, uninitialised reads, and what they leave in memory."""

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...bfloat16 import BFloat16, is_bfloat16, rounded
from ...numba_types import FLOAT32, INT64, Number, convert, is_number
from ..reporter import Reporter
from ..stops import Unsupported
from ..teams import Launch, Mask, Team, anybody, first_of
from .access import Access, Kind, name_element, place_of_element, written_around
from .arrays import ArrayView, DynamicShared, Memory
from .out_of_bounds import (
    Wanted,
    counts_from_end,
    index_of,
    is_outside,
    meets_later,
    numbers_in,
    taken_apart,
    way_back_inside,
    where_outside,
)
from .races import RaceChecker
from .recorder import Recorder

# (old, new, position of the thread) -> what an atomic leaves; all are NumPy scalars.
Operation: TypeAlias = Callable[[Any, Any, Any], Any]

FEW = 8


def atomic_add(old: Any, new: Any, position: Any) -> Any:
    return old + new


class Swap:
    """The `Operation` of a compare-and-swap. expected: (team.size,) what each thread looks for."""

    def __init__(self, expected: np.ndarray) -> None:
        self.expected = expected

    def __call__(self, old: Any, new: Any, position: Any) -> Any:
        return new if old == self.expected[position] else old


def change_in_turn(
    data: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    operation: Operation,
    positions: np.ndarray,
) -> np.ndarray:
    """Change data[place] with each value in turn. Returns (n,) what each thread found there.

    places, values, positions: (n,).
    """
    if len(places) > FEW and (places == places[0]).all():
        if operation is atomic_add:
            return add_to_one(data, int(places[0]), values)
        if isinstance(operation, Swap):
            return swap_one(data, int(places[0]), values, operation.expected[positions])
    found = np.empty(len(places), data.dtype)
    for number, (place, position) in enumerate(zip(places, positions, strict=True)):
        found[number] = data[place]
        data[place] = operation(data[place], values[number], position)
    return found


def add_to_one(data: np.ndarray, place: int, values: np.ndarray) -> np.ndarray:
    """All threads add to one element: they find the running sums, rounded after each step."""
    sums = np.concatenate([data[place : place + 1], values])
    np.add.accumulate(sums, out=sums, dtype=data.dtype)
    data[place] = sums[-1]
    return sums[:-1]


def swap_one(data: np.ndarray, place: int, values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """All threads compare and swap one element: between two that succeed, all find the same."""
    found = np.empty(len(values), data.dtype)
    begin = 0
    while begin < len(values):
        matches = np.flatnonzero(expected[begin:] == data[place])
        end = begin + int(matches[0]) + 1 if len(matches) else len(values)
        found[begin:end] = data[place]
        if len(matches):
            data[place] = values[end - 1]
        begin = end
    return found


def report_garbage(
    access: Access, first: int, why: str, launch: Launch, reporter: Reporter
) -> None:
    """A finding of a read of what is not there. first: of the threads that read, one."""
    memory, element, thread = access.memory, access.element[first], access.thread[first]
    reporter.add(
        "uninitialised",
        access.node,
        f"{name_element(memory, element)} is read by {launch.name_thread(thread)}, but {why}",
        memory.name,
        access=first,
        place=place_of_element(launch.place_of(thread), memory, element),
    )


def check_dynamic(
    access: Access, dynamic: DynamicShared, launch: Launch, reporter: Reporter
) -> None:
    """Look for reads of what nobody has written, or was written through another of the arrays."""
    memory = access.memory
    number = memory.dynamic_number
    writer = dynamic.writer[memory.cells(access.element)] if access.kind != "write" else None
    if access.kind == "write" or writer is None:
        dynamic.writer[memory.cells(access.element)] = number
        return
    strange = (writer != number).any(axis=1)
    if not strange.any():
        return
    first = first_of(strange)
    owner = int(writer[first][writer[first] != number][0])
    why = f"{UNWRITTEN}{ADVICE['shared']}"
    if owner and not dynamic.same_function(owner, number):
        return  # a device function that reaches for the memory of its caller means to share it
    if owner:
        name, other = memory.name, dynamic.memories[owner - 1].name
        why = (
            f"what lies there was written through {other}: arrays of size 0 all begin at the first "
            "byte of dynamic shared memory. Divide it: "
            f"{name} = cuda.shared.array(0, ...)[:n], {other} = cuda.shared.array(0, ...)[n:]"
        )
    report_garbage(access, first, why, launch, reporter)
    dynamic.writer[memory.cells(access.element)[np.flatnonzero(strange)]] = number


# ---------------------------------------------------------------- the checker


NOTHING = -(1 << 60)  # where a part begins that lies outside its array
CONVERTED = 16  # indices that are kept as int64, too
# What to say of an element that nobody has written, by the space it is in.
UNWRITTEN = "nobody has written it yet; "
ADVICE = {
    "shared": "shared memory starts with garbage on a GPU: is a barrier or a store missing?",
    "local": "local memory starts with garbage on a GPU: does this same thread set it first?",
    "global": "an array made by cuda.device_array starts with garbage: fill it first, or make it "
    "with cuda.to_device(np.zeros(...))",
}
OTHER_PLACES = (
    "is it stored at other places than it is read from, as with rows of another length, or does a "
    "guard stop the store?"
)


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
        self.unused_results: set[ast.expr] = set()  # calls whose result nobody looks at
        self.converted: dict[int, tuple[np.ndarray, Any]] = {}  # id -> an index, and as int64
        self.known_mask: Mask | None = None
        self.known_positions: np.ndarray | None = None

    def load(
        self, view: ArrayView, indices: Sequence[Number], mask: Mask, node: ast.expr
    ) -> BFloat16 | Number | ArrayView:
        """Value of view[indices]; a smaller `ArrayView` if some indices are missing."""
        found = self.load_from_memory(view, indices, mask, node)
        if is_bfloat16(view.dtype) and is_number(found):
            return BFloat16(found.astype(FLOAT32))
        return found

    def load_from_memory(
        self, view: ArrayView, indices: Sequence[Number], mask: Mask, node: ast.expr
    ) -> Number | ArrayView:
        memory = view.memory
        asked = mask
        element, mask = self.locate(view, indices, mask, node)
        if len(indices) < len(view.shape):
            rest = len(indices)
            missing = asked & ~mask  # a part that is not there: nothing of it can be touched
            if missing.any():
                element = np.where(missing, NOTHING, element)
            return ArrayView(memory, element, view.shape[rest:], view.strides[rest:])
        if memory.is_records:
            return ArrayView(memory, element, (), ())
        positions = self.positions(mask)
        if positions is not None and len(positions) == 0:
            return np.zeros(self.team.size, memory.data.dtype)
        same_for_all = not isinstance(element, np.ndarray)
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
            # Numba refuses it, but for kernels with an inner function: there it compiles.
            if not self.launch.options.compiles:
                raise Unsupported(node, f"{memory.name} is a constant array and cannot be written")
            self.reporter.add(
                "out-of-bounds",
                node,
                f"{memory.name} lies in constant memory: Numba compiles this store, and on a GPU "
                "it changes nothing or ends the launch; write to an array that is an argument",
                memory.name,
            )
            return
        element, mask = self.locate(view, indices, mask, node)
        positions = self.positions(mask)
        if positions is not None and len(positions) == 0:
            return
        if value.dtype.kind == "c" and memory.data.dtype.kind in "fiub":
            raise Unsupported(
                node,
                f"a {value.dtype} cannot be stored in an array of {memory.data.dtype}: take its "
                ".real, or abs() of it",
            )
        if is_bfloat16(memory.data.dtype):
            value = rounded(value).number
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
                node, f"{memory.name} has {len(view.shape)} dimensions; give an index for each"
            )
        element, mask = self.locate(view, indices, mask, node)
        active = np.flatnonzero(mask)
        old = np.zeros(self.team.size, memory.data.dtype)
        if len(active) == 0:
            return old
        touched = self.team.full(element)[active]
        values = self.team.full(convert(value, memory.data.dtype))
        unused = node in self.unused_results
        self.check(memory, touched, self.positions(mask), "atomic", node, acquires=not unused)
        if memory.space == "shared" and memory.data.dtype.kind == "f":
            self.reporter.add(
                "slow",
                node,
                "a GPU has no atomic for floats in shared memory: this becomes a loop of "
                "compare-and-swap; let each thread write its own element and sum after a barrier",
                topic="atomic",
            )
        if unused and operation is atomic_add:
            np.add.at(memory.data, touched, values[active])
            self.launch.changes += 1
            return None
        before = memory.data[touched]
        old[active] = change_in_turn(memory.data, touched, values[active], operation, active)
        if (before != memory.data[touched]).any():
            self.launch.changes += 1
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
        mask = self.team.going_on(mask)
        for axis, (index, length, stride) in enumerate(
            zip(indices, view.shape, view.strides, strict=False)
        ):
            if index.dtype.kind not in "iu":
                raise Unsupported(
                    node,
                    f"index {axis} of {view.memory.name} is a {index.dtype}; an index must "
                    "be a whole number: write int32(...)",
                )
            index = self.as_int64(index)
            outside = where_beyond(index, length)
            if anybody(outside):
                if anybody(mask & outside):
                    meant = counts_from_end(self.reporter.stack.source, node, axis)
                    if meant or (self.launch.options.negative and index.dtype.kind == "i"):
                        index, outside = self.from_end(view, index, axis, mask, node)
                    wrong = mask & outside
                    if anybody(wrong):
                        self.report_outside(view, indices, axis, wrong, mask, node)
                        mask = mask & ~outside
                index = np.where(outside, 0, index)
            element = element + index * stride
        if isinstance(view.offset, np.ndarray):
            nowhere = view.offset < 0
            if anybody(nowhere):
                return np.where(nowhere, 0, element), mask & ~nowhere
        return element, mask

    def as_int64(self, index: Number) -> Any:
        """An index as int64; kernels use the same few, such as threadIdx.x, again and again."""
        if index.dtype == INT64:
            return index
        if not isinstance(index, np.ndarray):
            return convert(index, INT64)
        known = self.converted.get(id(index))
        if known is not None and known[0] is index:
            return known[1]
        if len(self.converted) >= CONVERTED:
            self.converted.clear()
        self.converted[id(index)] = index, convert(index, INT64)
        return self.converted[id(index)][1]

    def from_end(
        self, view: ArrayView, index: Any, axis: int, mask: Mask, node: ast.expr
    ) -> tuple[Any, Any]:
        """(index, where it is outside) for an index that is meant to be negative."""
        name, length = view.memory.name, view.shape[axis]
        found = np.where((index < 0) & (index >= -length), index + length, index)[()]
        outside = (found < 0) | (found >= length)
        negative = mask & (index < 0) & ~outside
        if negative.any():
            first = first_of(negative)
            self.reporter.add(
                "negative",
                node,
                f"{self.reporter.name_all(negative)} uses the index "
                f"{int(self.team.full(index)[first])} of {name}, which counts from the end, as in "
                f"Python: Numba allows it. If it is meant, {name}.shape[{axis}] - ... says so and "
                "takes fewer instructions; if not, a guard is missing",
                key=name,
                advice=True,
                place=self.reporter.place_of(first)._replace(array=name),
            )
        return found, outside

    def report_outside(
        self,
        view: ArrayView,
        indices: Sequence[Number],
        axis: int,
        wrong: Mask,
        mask: Mask,
        node: ast.expr,
    ) -> None:
        if self.reporter.has("out-of-bounds", node, view.memory.name):  # in an earlier round
            self.launch.lose_track()
            return
        position = first_of(wrong)
        place = [int(self.team.full(index)[position]) for index in indices]
        shape = tuple(int(self.team.full(np.int64(n))[position]) for n in view.shape)
        problem = where_outside(view, axis, place[axis], shape[axis])
        asked = Wanted(
            [self.team.full(index)[mask] for index in indices],
            [self.team.full(np.int64(length))[mask] for length in view.shape],
            bool(mask.all()),
            meets_later(self.reporter.stack.places(node.lineno)),
            bool((self.team.threads[wrong] == 0).any()),
            numbers_in(node, axis, self.reporter.stack.frame, position),
            taken_apart(index_of(node), shape, self.reporter.stack.frame) if axis < 2 else "",
            self.reporter.stack.frame,
        )
        new = self.reporter.add(
            "out-of-bounds",
            node,
            f"{is_outside(node, view, place, shape, problem)}; {self.reporter.name_all(wrong)}. "
            f"{way_back_inside(node, view, axis, place, np.ndim(indices[axis]) == 0, asked)}",
            key=view.memory.name,
            place=self.reporter.place_of(position)._replace(
                array=view.memory.name, index=tuple(place)
            ),
        )
        self.launch.lose_track()
        if new and self.launch.options.record:
            wanted = [self.team.full(index)[wrong] for index in indices]
            self.recorder.keep_outside(view.memory, self.team.threads[wrong], node, wanted)

    # ---------------------------------------------------------------- checks

    def check(
        self,
        memory: Memory,
        element: Any,
        positions: np.ndarray | None,
        kind: Kind,
        node: ast.expr,
        value: Number | None = None,
        acquires: bool = False,
    ) -> None:
        """Look for races and missing initialisation, count the traffic, remember the access.

        element: one number for all threads that take part, or one for each.
        """
        self.launch.instruction += 1
        if kind == "write":
            self.launch.changes += 1
        elif memory.may_change:
            self.team.looks += 1
        thread = self.team.threads if positions is None else self.team.threads[positions]
        if not isinstance(element, np.ndarray):
            element = np.full(len(thread), element)
        access = Access(memory, element, positions, thread, kind, node, value, acquires)
        self.reporter.problem, self.reporter.marked = "", []
        if memory.initialised is not None:
            self.check_initialised(access, memory.initialised)
        elif memory.dynamic is not None:
            check_dynamic(access, memory.dynamic, self.launch, self.reporter)
        elif memory.owner is not None and kind != "read":
            memory.mark_owner(element)
        if memory.history is not None:
            self.races.check(access, memory.history)
        self.recorder.record(access, self.reporter.problem, self.reporter.marked)

    def check_initialised(self, access: Access, initialised: np.ndarray) -> None:
        memory, element = access.memory, access.element
        if access.kind == "write":
            initialised[element] = True
            return
        if memory.all_initialised:
            return
        known = initialised[element]
        if not anybody(~known):
            memory.reads_until_look -= 1
            if memory.reads_until_look <= 0:  # to look at all elements each time would be slow
                memory.all_initialised = bool(initialised.all())
                memory.looks += 1
                memory.reads_until_look = 1 << memory.looks
            return
        first = first_of(~known)
        advice = ADVICE[memory.space]
        around = written_around(memory, initialised, element[first])
        if around:
            advice = f"{around}: {OTHER_PLACES}"
        report_garbage(access, first, UNWRITTEN + advice, self.launch, self.reporter)
        initialised[element] = True


def where_beyond(index: Any, length: Any) -> Any:
    """Where an int64 index is below 0 or not below the length of its axis.

    index, length: one for all threads, or one per thread.
    """
    if isinstance(length, np.ndarray):
        return (index < 0) | (index >= length)
    if isinstance(index, np.ndarray):
        # Seen as unsigned, a negative index is a huge one: one comparison checks both ends.
        return index.view(np.uint64) >= np.uint64(max(0, int(length)))
    return np.bool_(not 0 <= index < length)
