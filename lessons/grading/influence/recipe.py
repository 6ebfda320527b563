"""How much of which numbers a wrong element is made of, in a student's file and in a right one.

Where an element is a sum over an input, each number times a weight, and has few terms, the weights
can be measured: each number is changed, alone, and the element moves by its weight times that.
"""

from typing import NamedTuple

import numpy as np

from lessons.grading.influence.inputs import (
    VARIANTS,
    Box,
    Input,
    halves,
    is_element,
    other_values,
    place_of,
)
from lessons.grading.influence.measure import Index, Measure, OutOfRuns

MOST_TERMS = 6  # that a reader compares by eye
ROUNDING = 1e-5  # of the element: what float32 may be off by
NOT_EVEN = 1e-3  # of a step: by which the element of a sum may move more or less

Terms = dict[Index, float]  # the weight of each number of an input


class Recipe(NamedTuple):
    """The numbers of one input that a wrong element is a sum over, and their weights."""

    given: Input
    mine: Terms
    ours: Terms
    rest: tuple[float, float]  # what comes from elsewhere, in the student's element and a right one


def recipe_of(measure: Measure) -> Recipe | None:
    """The first input whose numbers have other weights than they should; None if there is none.

    Also None where an element is no sum, or has more than `MOST_TERMS` terms.
    """
    for given in measure.inputs:
        if given.values.dtype.kind != "f" or given.is_result:
            continue
        try:
            ours = terms(measure, "right", given)
            mine = terms(measure, "student", given) if ours is not None else None
        except OutOfRuns:
            return None
        if mine is None or ours is None or alike(mine, ours):
            continue
        values = measure.values
        rest = tuple(
            value - sum(weight * float(given.values[place]) for place, weight in some.items())
            for value, some in zip(values, (mine, ours), strict=True)
        )
        return Recipe(given, mine, ours, (rest[0], rest[1]))
    return None


def terms(measure: Measure, who: str, given: Input) -> Terms | None:
    """The weights of all numbers that an element changes with; None if it is no short sum."""
    places: list[Index] = []
    boxes: list[Box] = [given.whole]
    while boxes:
        box = boxes.pop()
        moved = measure.influence(who, given, box, 1)
        if moved.failed:
            return None
        if not moved.moves:
            continue
        if is_element(box):
            places.append(place_of(box))
        if len(places) > MOST_TERMS:
            return None
        boxes += reversed(halves(box))
    weights = {place: weight_of(measure, who, given, place) for place in sorted(places)}
    found = {place: weight for place, weight in weights.items() if weight is not None}
    is_sum = len(found) == len(weights) and adds_up(measure, who, given, found)
    return found if is_sum else None


def weight_of(measure: Measure, who: str, given: Input, place: Index) -> float | None:
    """How much the element moves for each 1 of a number; None if that depends on the number."""
    box = tuple((one, one + 1) for one in place)
    steps = np.array(measure.influence(who, given, box).by)
    before = float(given.values[place])
    by = np.array([other_values(given, variant)[place] - before for variant in range(VARIANTS)])
    if len(steps) < VARIANTS or not np.isfinite(steps).all() or not by.all():
        return None
    most = int(np.argmax(np.abs(by)))
    weight = float(steps[most] / by[most])
    return weight if is_near(measure, steps, weight * by) else None


def adds_up(measure: Measure, who: str, given: Input, weights: Terms) -> bool:
    """Whether all numbers together move the element as much as one by one."""
    steps = np.array(measure.influence(who, given, given.whole).by)
    if len(steps) < VARIANTS:
        return False
    others = [other_values(given, variant).astype(np.float64) for variant in range(VARIANTS)]
    wanted = [
        sum(weight * (other[place] - given.values[place]) for place, weight in weights.items())
        for other in others
    ]
    return is_near(measure, steps, np.array(wanted, np.float64))


def is_near(measure: Measure, steps: np.ndarray, wanted: np.ndarray) -> bool:
    most = ROUNDING * max(map(abs, measure.values)) + NOT_EVEN * float(np.abs(steps).max(initial=0))
    return bool((np.abs(steps - wanted) <= most).all())


def alike(mine: Terms, ours: Terms) -> bool:
    """Whether both give the same numbers the same weights."""
    most = max(map(abs, (*mine.values(), *ours.values())), default=0.0)
    return mine.keys() == ours.keys() and all(
        abs(mine[place] - weight) <= NOT_EVEN * most for place, weight in ours.items()
    )
