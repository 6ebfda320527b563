"""Search for an input that a wrong element comes from, and should not; or does not, and should.

Parts of the inputs are changed, and two files are run: the student's, and a right one. Where an
element changes in one run and stays the same in the other, the part is cut in two, and so on, down
to one number. What is told of it was measured; nothing is concluded.
"""

import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from lessons.grading.influence.inputs import (
    VARIANTS,
    Box,
    Change,
    Input,
    halves,
    is_element,
    place_of,
)
from lessons.grading.influence.measure import (
    Budget,
    Element,
    Index,
    Measure,
    OutOfRuns,
    Run,
    Step,
    common_factor,
    furthest,
    same,
)

SAME_ERROR = 0.01  # of an error: by how much one may change that stays the same
LEVELS_TOGETHER = 3  # how often all parts are cut in two before one is followed to its end
LEVELS_OF_WHOLE = 5  # the same, for a part with which no number of the result changes
MOST_PLACES = 3  # single numbers that are told of one input
# Of runs and time: to look at a whole result, at one element, and to say exactly what was found.
SHARE_OF_WHOLE, SHARE_OF_ELEMENT, SHARE_OF_ANSWER = 0.3, 0.4, 0.3


class Difference(NamedTuple):
    """What is told; of the student's file, beside a right one."""

    kind: str  # one of those below
    element: Element
    inputs: tuple[Input, ...] = ()
    place: Index | None = None  # of one number of the input; None for all of it
    silent: Box | None = None  # a part around it, with which the element does not change
    instead: Index | None = None  # of one with which it changes, and should not
    others: tuple[Index, ...] = ()  # more numbers like the one of `place`
    factor: float = 0.0
    step: Step | None = None  # of one number, and what it does


UNUSED, SILENT, MISSING, EXTRA = "unused", "silent", "missing", "extra"
FACTOR, AMOUNTS, CONSTANT = "factor", "amounts", "constant"


class Search(Measure):
    """One search, for one wrong element."""

    def __init__(
        self, student: Run, right: Run, inputs: Sequence[Input], element: Element, budget: Budget
    ) -> None:
        super().__init__(student, right, inputs, element, budget)
        self.begin(element)

    def begin(self, element: Element) -> None:
        """Look at this element; what is known of runs stays known."""
        self.element = element
        self.missing: list[tuple[Input, Box]] = []
        self.extra: list[tuple[Input, Box]] = []
        self.factors: list[tuple[Input, Box, float]] = []
        self.amounts: list[tuple[Input, Box]] = []  # numbers that move it, but not by a factor
        self.complete = True  # whether every part was looked at

    def difference(self) -> Difference | None:
        """What is worth telling; None if nothing was found."""
        element = self.element
        found = self.of_whole_result(element)
        if found:
            return found
        self.begin(element)
        self.allow(SHARE_OF_ELEMENT)
        try:
            self.look_closer(self.look_at_all())
        except OutOfRuns:
            self.complete = False
        self.allow(SHARE_OF_ANSWER)
        try:
            return self.of_whole_inputs() or self.of_places() or self.of_amounts()
        except OutOfRuns:
            return None

    def of_whole_result(self, element: Element) -> Difference | None:
        """An input, or a large part of one, with which no number of the result changes."""
        self.begin(Element(element.name, None))
        self.allow(SHARE_OF_WHOLE)
        before = self.results("right", None)
        if before is None or before[element.name].size == 1:
            return None
        try:
            self.look_closer(self.look_at_all(), LEVELS_OF_WHOLE)
            self.extra = []
            found = self.of_whole_inputs() or self.of_places()
        except OutOfRuns:
            return None
        told_in_one_piece = found and (found.place is None or found.silent)
        return found if told_in_one_piece else None

    def allow(self, share: float) -> None:
        """Begin to count runs and seconds anew."""
        self.left = int(share * self.budget.runs)
        self.end = time.monotonic() + share * self.budget.seconds

    # ---------------------------------------------------------------- where they differ

    def look_at_all(self) -> list[tuple[Input, Box]]:
        """Each input as a whole; returns those that have to be looked at more closely."""
        return [(given, given.whole) for given in self.inputs if self.differs(given, given.whole)]

    def look_closer(self, parts: Sequence[tuple[Input, Box]], most: int | None = None) -> None:
        """Cut the parts in two that move the element in both files, but not alike.

        At first all of them, so that what is missing is found in one piece; then one after the
        other, down to single numbers, until there is something to tell. most: how often a part is
        cut, None for as often as can be.
        """
        queue = deque((given, box, 0) for given, box in parts)
        reached = 0
        while queue:
            far = queue[0][2] >= (LEVELS_TOGETHER if most is None else most)
            given, box, level = queue.pop() if far else queue.popleft()
            if (self.missing and level > reached) or (far and self.is_enough()):
                self.complete = False
                return
            if level == most:
                continue
            reached = sys.maxsize if far else level
            if is_element(box):
                self.amounts.append((given, box))
            for half in reversed(halves(box)) if far else halves(box):
                if self.differs(given, half):
                    queue.append((given, half, level + 1))

    def is_enough(self) -> bool:
        """Whether there are numbers to tell of one input: some, or one for the other."""
        for given in self.inputs:
            missing, extra = (
                sum(other.path == given.path for other, _ in parts)
                for parts in (self.missing, self.extra)
            )
            if (missing and extra) or max(missing, extra) >= MOST_PLACES:
                return True
        return False

    def differs(self, given: Input, box: Box) -> bool:
        """Note what a part does; True if it moves the element in both files, but not alike."""
        both = self.both(given, box)
        if both is None:
            self.complete = False
            return False
        mine, ours = both
        if ours.moves and not mine.moves:
            self.missing.append((given, box))
        elif mine.moves and not ours.moves:
            self.extra.append((given, box))
        elif mine.moves and not self.alike(mine, ours):
            factor = self.factor_of(given, box) if common_factor(mine, ours) else 0.0
            if not factor:
                return True
            self.factors.append((given, box, factor))
        return False

    # ---------------------------------------------------------------- what is told

    def of_whole_inputs(self) -> Difference | None:
        """Inputs that are not used at all, or not for this element."""
        silent = [given for given, box in self.missing if box == given.whole]
        silent = [given for given in silent if self.stays(given, given.whole)]
        unused = [given for given in silent if not self.moves_anything(given)]
        if unused:
            return Difference(UNUSED, self.element, tuple(unused))
        return Difference(SILENT, self.element, tuple(silent)) if silent else None

    def stays(self, given: Input, box: Box, variants: int = VARIANTS) -> bool:
        """Whether the student's element does not change with a part."""
        return self.influence("student", given, box, variants).stays

    def moves_anything(self, given: Input) -> bool:
        """Whether any result of the student's changes with an input."""
        before = self.results("student", None)
        for variant in range(VARIANTS):
            after = self.results("student", Change(given, given.whole, variant))
            if before is None or after is None:
                return True
            if any(not same(before[name], after[name]) for name in before):
                return True
        return False

    def of_places(self) -> Difference | None:
        """A number that has no influence, and should; or has one, and should not."""
        extra_in = {given.path for given, _ in self.extra}
        for given, box in sorted(self.missing, key=lambda one: one[0].path not in extra_in):
            index = self.one_of("right", given, box)
            if index is None:
                continue
            extra = [part for other, part in self.extra if other.path == given.path]
            instead = self.one_of("student", given, extra[0]) if extra else None
            return Difference(
                MISSING, self.element, (given,), *self.first_of(given, index), instead
            )
        for given, box in self.extra:
            index = self.one_of("student", given, box)
            if index is not None:
                others = self.others(given, index, "student", self.extra)
                return Difference(EXTRA, self.element, (given,), index, others=others)
        return None

    def others(
        self, given: Input, index: Index, who: str, parts: Sequence[tuple[Input, Box]]
    ) -> tuple[Index, ...]:
        """A few more single numbers of an input that were found beside this one."""
        single = [box for other, box in parts if other.path == given.path and is_element(box)]
        places = [self.one_of(who, given, box) for box in single[:MOST_PLACES]]
        return tuple(sorted(place for place in places if place is not None and place != index))

    def one_of(self, who: str, given: Input, box: Box) -> Index | None:
        """The first number of a part that moves the element in one file, and not in the other."""
        while not is_element(box):
            first, second = halves(box)
            box = first if self.influence(who, given, first, 1).moves else second
        other = "right" if who == "student" else "student"
        moves = self.influence(who, given, box).moves
        return place_of(box) if moves and self.influence(other, given, box).stays else None

    def first_of(self, given: Input, index: Index) -> tuple[Index, Box | None]:
        """(the first number like this one, the rows, columns and so on that have no influence).

        None for the latter if it is that number alone.
        """
        for axis in range(len(index)):
            box = self.trimmed(given, self.widened(given, index, axis), axis)
            start, stop = box[axis]
            if stop - start <= 1 or not self.stays(given, box):
                continue
            nicer = place_of(box), (*index[:axis], start, *index[axis + 1 :])
            first = next((one for one in nicer if self.is_missing(given, one)), index)
            return first, box
        return index, None

    def trimmed(self, given: Input, box: Box, axis: int) -> Box:
        """A part without what has no influence in a right file either, at both of its ends."""

        def part(start: int, stop: int) -> Box:
            return (*box[:axis], (start, stop), *box[axis + 1 :])

        def silent(start: int, stop: int) -> bool:
            return self.influence("right", given, part(start, stop), 1).stays

        start, stop = box[axis]
        start += furthest(lambda far: silent(start, start + far), stop - start)
        stop -= furthest(lambda far: silent(stop - far, stop), max(0, stop - start))
        return part(start, max(start, stop))

    def is_missing(self, given: Input, index: Index) -> bool:
        box = tuple((place, place + 1) for place in index)
        return self.influence("right", given, box).moves and self.stays(given, box)

    def widened(self, given: Input, index: Index, axis: int) -> Box:
        """All numbers whose place along an axis is in a range around that of `index`."""

        def part(start: int, stop: int) -> Box:
            return (*given.whole[:axis], (start, stop), *given.whole[axis + 1 :])

        def silent(start: int, stop: int) -> bool:
            return self.stays(given, part(start, stop), 1)

        place, length = index[axis], given.values.shape[axis]
        if not silent(place, place + 1):
            return part(place, place + 1)
        start = place - furthest(lambda far: silent(place - far, place + 1), place)
        stop = place + 1 + furthest(lambda far: silent(place, place + 1 + far), length - place - 1)
        return part(start, stop)

    def of_amounts(self) -> Difference | None:
        """By how much the element moves: a factor, or that it is the amounts alone."""
        for given, box, factor in self.factors:
            index = None if box == given.whole else self.one_moving(given, box)
            return Difference(FACTOR, self.element, (given,), index, factor=factor)
        if not self.complete:
            return None
        if self.amounts:
            # Of a function of plain numbers this would say nothing.
            told = [(given, box) for given, box in self.amounts if box]
            if not told:
                return None
            given, box = told[0]
            step = self.step_of(given, box)
            return Difference(AMOUNTS, self.element, (given,), place_of(box), step=step)
        return Difference(CONSTANT, self.element) if self.is_constant() else None

    def is_constant(self) -> bool:
        """Whether the error stays the same, whichever input is changed.

        Plain numbers alone are changed a little, and a mistake may begin further away.
        """
        if not any(given.is_array for given in self.inputs):
            return False
        error = abs(self.values[0] - self.values[1])
        for given in self.inputs:
            mine, ours = (self.influence(who, given, given.whole) for who in ("student", "right"))
            if mine.failed or ours.failed:
                return False
            if any(abs(a - b) > SAME_ERROR * error for a, b in zip(mine.by, ours.by, strict=True)):
                return False
        return True

    def one_moving(self, given: Input, box: Box) -> Index:
        """One number of a part that moves the element by a factor."""
        while not is_element(box):
            first, second = halves(box)
            box = first if self.influence("right", given, first, 1).moves else second
        return place_of(box)
