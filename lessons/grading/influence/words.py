"""What a student reads of an input that a wrong element comes from, beside which it should."""

from collections.abc import Sequence

from lessons.grading.influence.inputs import Box, Input
from lessons.grading.influence.measure import Element, Index
from lessons.grading.influence.recipe import Recipe, Terms
from lessons.grading.influence.search import (
    AMOUNTS,
    CONSTANT,
    EXTRA,
    FACTOR,
    MISSING,
    SILENT,
    UNUSED,
    Difference,
)

TIMES = {2: "twice as much as", 3: "three times as much as", 0.5: "half as much as"}
AXES = "row", "column"
SMALL = 1e-3  # of the largest term: a rest that is not told


def sentences(found: Difference) -> str:
    """One or two sentences on what was found of a wrong element."""
    name, place = found.element
    wrong = with_index(name, place)
    if found.kind == CONSTANT:
        return (
            f"{wrong} changes with each input as it should: what is wrong does not come from them, "
            "but is the same whatever they are."
        )
    names = either([numbers_of(given) for given in found.inputs])
    if found.kind == UNUSED:
        return f"In this run no result changes when {names} changes; some should."
    if found.kind == SILENT:
        return f"{silent(found)} when {names} changes, whatever the numbers; {should(found)}."
    given = found.inputs[0]
    number = numbers_of(given, found.place)
    each = either([number, *(numbers_of(given, place) for place in found.others)])
    if found.kind == AMOUNTS:
        return (
            f"As far as was tried, {wrong} changes with the numbers that it should change with, "
            f"and with no other, but by other amounts: {by_step(found, number, wrong)}."
        )
    if found.kind == FACTOR:
        return f"When {number} changes, {wrong} changes {times(found.factor)}."
    if found.kind == EXTRA:
        return f"{wrong} changes when {each} changes; it should not."
    assert found.kind == MISSING
    return f"{silent(found)} when {each} changes; {should(found)}.{more(found)}"


def lines_of(recipe: Recipe, element: Element) -> list[str]:
    """Which numbers of an input a wrong element is a sum of, and which it should be."""
    name = recipe.given.name
    wrong = with_index(*element)
    sides = zip(("yours", "right"), (recipe.mine, recipe.ours), recipe.rest, strict=True)
    return [
        f"how {wrong} comes from {name}, if nothing else changes:",
        *(f"  {side}: {sum_of(recipe.given, terms, rest)}" for side, terms, rest in sides),
    ]


def sum_of(given: Input, terms: Terms, rest: float) -> str:
    """ "0.5 * a[0, 1] - 2 * a[0, 2] + 0.125"."""
    parts = [(weight, f" * {numbers_of(given, place)}") for place, weight in terms.items()]
    largest = max((abs(weight * given.values[place]) for place, weight in terms.items()), default=0)
    if abs(rest) > SMALL * largest:
        parts.append((rest, ""))
    signed = " ".join(f"{'-' if weight < 0 else '+'} {abs(weight):.3g}{of}" for weight, of in parts)
    return signed.removeprefix("+ ") or "0"


def by_step(found: Difference, number: str, wrong: str) -> str:
    """What one number of an input does, and what it should do."""
    step = found.step
    if step is None:
        return f"with {number}, for one"
    return (
        f"when {number} goes from {step.before:.4g} to {step.after:.4g}, {wrong} changes by "
        f"{step.mine:.3g}, and should by {step.ours:.3g}"
    )


def silent(found: Difference) -> str:
    """That an element does not change, or no element of a result."""
    name, place = found.element
    if place is None:
        return f"No number of {name} changes"
    return f"{with_index(name, place)} does not change"


def should(found: Difference) -> str:
    return "some should" if found.element.place is None else "it should"


def more(found: Difference) -> str:
    """What else is known of an input that has no influence: which has, and which have none."""
    if found.instead is not None:
        other = numbers_of(found.inputs[0], found.instead)
        return f" It changes when {other} changes; it should not."
    if found.silent is not None:
        subject = "None changes" if found.element.place is None else "It does not change"
        return f" {subject} with any of {part(found.inputs[0], found.silent)}."
    return ""


def times(factor: float) -> str:
    size = abs(factor)
    if size == 1:
        return "as much as it should, but in the other direction"
    words = TIMES.get(size)
    if words is None:
        shown = f"{size:g}" if size > 1 else f"1/{1 / size:g}"
        words = f"{shown} times as much as"
    return f"{words} it should{', and in the other direction' * (factor < 0)}"


def either(names: Sequence[str]) -> str:
    """ "a", "a or b", "a, b or c"."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def numbers_of(given: Input, place: Index | None = None) -> str:
    """An input, or one number of it."""
    if not given.is_result:
        return with_index(given.name, place)
    return f"the first value of {with_index(given.name, place)}"


def with_index(name: str, index: Index | None) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def part(given: Input, box: Box) -> str:
    """A range of an array along one of its axes, in words."""
    axis = next(
        (axis for axis, ends in enumerate(box) if ends != (0, given.values.shape[axis])), None
    )
    name = given.name
    if axis is None:
        return f"the {given.values.size:,} numbers of {name}"
    start, stop = box[axis]
    if len(box) == 1:
        return f"{name}[{start}] to {name}[{stop - 1}]"
    if len(box) == 2:
        return f"the {AXES[axis]}s {start} to {stop - 1} of {name}"
    before = ":, " * axis
    return f"{name}[{before}{start}] to {name}[{before}{stop - 1}]"
