"""What an array held before, and what is still in its values: nobody has set it to zero."""

import numpy as np

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis

MOST_UNCHANGED = 0.1  # of the elements
FEWEST = 4  # elements in which a part of the garbage is seen
MOST_PARTS = 64  # beyond that any number is a part of the garbage
LEAST_SHARE, MOST_SHARE = 0.001, 100.0
FAR = 10  # times the largest value: no change of a range adds so much
OLD_VALUES = (
    "is it added to what the array held before, which nobody has set to zero? Add up in a "
    "variable that begins at zero, and store it once with `=`."
)


def added_to_garbage(comparison: Comparison) -> Diagnosis | None:
    """Expected values on top of the sentinel, up to what float32 can hold there."""
    wrong = comparison.wrong
    # One sum may be so small that it adds nothing; where many are, nobody has written them.
    if not wrong.any() or np.mean(comparison.got[wrong] == comparison.sentinel) > MOST_UNCHANGED:
        return None
    room = max(comparison.tolerance, abs(comparison.sentinel) * 1e-5)
    with np.errstate(invalid="ignore", over="ignore"):
        fits = np.abs(comparison.got - comparison.sentinel - comparison.expected) <= room
    if not fits[wrong].all():
        return None
    if np.ptp(comparison.expected) <= room and np.abs(comparison.expected).min() <= room:
        return None
    then = (
        "let one thread add up all terms of an element in a variable, and store it with `=`; where "
        "several threads add to it, it has to be zero before."
        if comparison.clues.adds_atomically
        else "store them with `=` (what is a sum of several rounds is first added up in a "
        "variable), or set each element to zero first."
    )
    return Diagnosis(
        "not begun at zero", f"The right values were added to what the array held before: {then}"
    )


def part_of_garbage(comparison: Comparison) -> Diagnosis | None:
    """The same where the sum was divided: by a number, or by one of its own for each element."""
    wrong, sentinel = comparison.wrong, comparison.sentinel
    if np.count_nonzero(wrong) < FEWEST or not np.isfinite(comparison.got).all():
        return None
    too_much = comparison.got[wrong] - comparison.expected[wrong]
    parts = np.rint(sentinel / too_much)
    if not ((parts >= 1) & (parts <= MOST_PARTS)).all() or not (parts > 1).any():
        return None
    room = np.maximum(comparison.tolerance, abs(sentinel) * 1e-5 / parts)
    if not (np.abs(too_much - sentinel / parts) <= room).all():
        return None
    first, last = int(parts.min()), int(parts.max())
    by = f"{first}" if first == last else f"a number from {first} to {last}"
    return Diagnosis(
        "not begun at zero",
        f"In each wrong value is what the array held before, divided by {by}: the sums do not "
        "begin at zero. Add up in a variable that does, and store it once with `=`, or set each "
        "element to zero first.",
    )


def like_garbage(comparison: Comparison, addend: float) -> bool:
    """Whether an addend is far from all values, and near what the array held: a share of it."""
    largest = float(np.abs(comparison.expected).max(initial=0.0))
    share = addend / comparison.sentinel
    return abs(addend) > FAR * largest and LEAST_SHARE < share < MOST_SHARE
