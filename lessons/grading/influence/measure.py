"""What changes in a result if a part of an input does: in a student's file, and a right one."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lessons.grading.influence.inputs import (
    VARIANTS,
    Box,
    Change,
    Input,
    other_values,
    place_of,
)

ROUNDING = 1e-6  # of a number: what float32 sums of a thousand terms may be off
ALIKE = 1e-4  # of a change: two that differ by less are the same, but for rounding
LARGEST_FACTOR = 64
AGAIN = 2  # ways to change a part before it is noted that only one file's element moves

Results = Mapping[str, np.ndarray]  # name -> what a run has left
Run = Callable[[Change | None], Results | None]  # None if it ended with a finding or an error
Index = tuple[int, ...]


class OutOfRuns(Exception):
    """As many runs were made as may be, or the time is up."""


class Element(NamedTuple):
    """One number of a result; or all of it, if no place is given."""

    name: str
    place: Index | None


class Budget(NamedTuple):
    runs: int  # of both files together
    seconds: float


class Influence(NamedTuple):
    """How a part of an input moves an element in one file: for each variant, by how much."""

    by: tuple[float, ...]
    failed: bool = False  # whether a run ended with an error: then it tells nothing

    @property
    def moves(self) -> bool:
        return any(step != 0 for step in self.by)

    @property
    def stays(self) -> bool:
        """Whether it is known not to move."""
        return not self.failed and not self.moves


class Step(NamedTuple):
    """One number of an input gets another, and the wrong element moves with it."""

    before: float
    after: float
    mine: float  # by how much it moves in the student's file
    ours: float  # and in a right one


class Measure:
    """Runs both files with changes, and looks at one wrong element.

    student, right: run a file with a change.
    """

    def __init__(
        self, student: Run, right: Run, inputs: Sequence[Input], element: Element, budget: Budget
    ) -> None:
        self.runs = {"student": student, "right": right}
        self.inputs = inputs
        self.element = element
        self.budget = budget
        self.left = budget.runs
        self.end = time.monotonic() + budget.seconds
        self.known: dict[tuple[object, ...], Results | None] = {}

    def results(self, who: str, change: Change | None) -> Results | None:
        key = (who, change and (change.input.path, change.box, change.variant))
        if key not in self.known:
            if self.left <= 0 or time.monotonic() > self.end:
                raise OutOfRuns
            self.left -= 1
            self.known[key] = self.runs[who](change)
        return self.known[key]

    def influence(self, who: str, given: Input, box: Box, variants: int = VARIANTS) -> Influence:
        """How a part moves the element."""
        before = self.results(who, None)
        steps = []
        for variant in range(variants):
            after = self.results(who, Change(given, box, variant))
            if before is not None and after is not None:
                steps.append(step(self.looked_at(before), self.looked_at(after)))
        return Influence(tuple(steps), len(steps) < variants)

    def both(self, given: Input, box: Box) -> tuple[Influence, Influence] | None:
        """(the student's, the right one's), in as few runs as tell whether it moves.

        None if one of the two files does not run with these changes.
        """
        for variants in (1, AGAIN):
            mine = self.influence("student", given, box, variants)
            ours = self.influence("right", given, box, variants)
            if mine.failed or ours.failed:
                return None
            if mine.moves == ours.moves:
                break
        return mine, ours

    def alike(self, mine: Influence, ours: Influence) -> bool:
        """Whether an element moves by the same amounts, but for rounding."""
        most = ROUNDING * max(map(abs, self.values)) + ALIKE * max(map(abs, (*mine.by, *ours.by)))
        # NaN is like nothing
        return all(abs(a - b) <= most for a, b in zip(mine.by, ours.by, strict=True))

    @property
    def values(self) -> tuple[float, float]:
        """The element as the student's file leaves it, and as a right one does."""
        mine, ours = self.results("student", None), self.results("right", None)
        assert mine is not None and ours is not None, "both files run with the inputs of the check"
        return largest(self.looked_at(mine)), largest(self.looked_at(ours))

    def looked_at(self, results: Results) -> np.ndarray:
        """The element, or the whole result."""
        name, place = self.element
        return np.asarray(results[name] if place is None else results[name][place])

    def step_of(self, given: Input, box: Box) -> Step:
        """What one number of an input does, in the first way in which it is changed."""
        mine, ours = (self.influence(who, given, box, 1).by[0] for who in ("student", "right"))
        place = place_of(box)
        return Step(float(given.values[place]), float(other_values(given, 0)[place]), mine, ours)

    def factor_of(self, given: Input, box: Box) -> float:
        """The plain number by which the student's element moves more than it should; 0 for none."""
        return common_factor(
            self.influence("student", given, box), self.influence("right", given, box)
        )


def step(before: np.ndarray, after: np.ndarray) -> float:
    """By how much a number has changed, or that of an array which has changed most.

    NaN for one that is or becomes no number.
    """
    if same(before, after):
        return 0.0
    steps = (after.astype(np.float64) - before).ravel()
    return float(steps[np.argmax(np.abs(steps))])  # the first NaN, if there is one


def largest(values: np.ndarray) -> float:
    return float(values.ravel()[np.argmax(np.abs(values))])


def same(before: np.ndarray, after: np.ndarray) -> bool:
    return np.ascontiguousarray(before).tobytes() == np.ascontiguousarray(after).tobytes()


def common_factor(mine: Influence, ours: Influence) -> float:
    """The plain number that all of the student's steps are times those of a right file; else 0."""
    if mine.failed or ours.failed or not all(ours.by):
        return 0.0
    factors = [a / b for a, b in zip(mine.by, ours.by, strict=True)]
    nearest = plain(factors[0])
    near = all(abs(one - nearest) <= ALIKE * abs(nearest) for one in factors)
    return nearest if near and nearest != 1 else 0.0


def plain(factor: float) -> float:
    """The nearest whole number, or one divided by a whole number, with its sign."""
    sign = -1.0 if factor < 0 else 1.0
    size = abs(factor)
    if not 1 / (2 * LARGEST_FACTOR) < size < 2 * LARGEST_FACTOR:
        return 1.0
    return sign * (round(size) if size >= 1 else 1 / round(1 / size))


def furthest(holds: Callable[[int], bool], most: int) -> int:
    """The largest number up to `most` for which something holds that holds for smaller ones."""
    if most == 0 or holds(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
