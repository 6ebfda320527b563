"""What is added to numbers that were there before: the square of it, or a multiple, and not it; or
no more than some amount.
"""

import numpy as np

from lessons.grading.advice.messages import short_number

FEWEST = 3  # elements to which something else than 0 or 1 is added, of at least two amounts
MOST_TIMES = 65536
FEWEST_CHANGES = 8  # of numbers that are not whole: fewer may be alike by accident


def other_amount(
    before: np.ndarray, expected: np.ndarray, got: np.ndarray, tolerance: float = 0.0
) -> str:
    """A sentence if all changes of an array are such a function of what they should be.

    before: what the array held at first. "" if something else is wrong.
    """
    return other_whole_amount(before, expected, got) or other_change(
        before, expected, got, tolerance
    )


def other_whole_amount(before: np.ndarray, expected: np.ndarray, got: np.ndarray) -> str:
    """Of whole numbers: the square is added, or a multiple."""
    if not all(array.dtype.kind in "iu" for array in (before, expected, got)):
        return ""
    before, expected, got = (np.ravel(array).astype(np.int64) for array in (before, expected, got))
    right, added = expected - before, got - before
    use = right > 1
    if not (np.count_nonzero(use) >= FEWEST and len(np.unique(right[use])) > 1):
        return ""
    first = int(np.flatnonzero(use)[0])
    one = int(right[first])
    if (added == right**2).all():
        how = f"{one:,} x {one:,}"
        said = "The square of each number is added, as if once for each of what it counts"
    else:
        times = int(added[first]) // one
        if not 1 < times <= MOST_TIMES or (added != times * right).any():
            return ""
        how = f"{times} x {one:,}"
        said = f"Each number is added {times} times"
    return (
        f"{said}: {short_number(int(before[first]))} was there, {how} was added, in place of "
        f"{one:,}."
    )


def other_change(
    before: np.ndarray, expected: np.ndarray, got: np.ndarray, tolerance: float
) -> str:
    """Of floats: all change by a multiple, or by no more than some amount."""
    if got.dtype.kind != "f" or not before.shape == expected.shape == got.shape:
        return ""
    if not (np.isfinite(got).all() and np.isfinite(expected).all()):
        return ""
    before, expected, got = (
        np.ravel(array).astype(np.float64) for array in (before, expected, got)
    )
    right, change = expected - before, got - before
    use = np.abs(right) > 20 * tolerance
    if np.count_nonzero(use) < FEWEST_CHANGES or np.ptp(np.abs(right[use])) <= 20 * tolerance:
        return ""
    most = float(np.abs(change).max())
    beyond = np.abs(right) > most + tolerance
    first = int(np.argmax(np.abs(right)))
    example = (
        f"{short_number(before[first])} became {short_number(got[first])}, and should become "
        f"{short_number(expected[first])}"
    )
    if most <= tolerance:
        return f"No number has changed: {example}."
    if (np.abs(change - most * np.sign(right))[use] <= tolerance).all():
        return (
            f"Every number changes by {short_number(most)}, up or down, however much it should "
            f"change: {example}. Is only the sign used?"
        )
    if (np.abs(change - np.clip(right, -most, most)) <= 2 * tolerance).all():
        if np.count_nonzero(beyond) < FEWEST:
            return ""
        return (
            f"No number changes by more than {short_number(most)}: {example}. What should change "
            "more is cut off there: does min, max or a condition do that?"
        )
    factor = float(change @ right / (right @ right))
    if (np.abs(change - factor * right) <= tolerance * max(1.0, abs(factor))).all():
        return f"Every number changes by {factor:.4g} times what it should: {example}."
    return ""
