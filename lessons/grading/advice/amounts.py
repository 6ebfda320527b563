"""What is added to numbers that were there before: the square of it, or a multiple, and not it."""

import numpy as np

from lessons.grading.advice.messages import short_number

FEWEST = 3  # elements to which something else than 0 or 1 is added, of at least two amounts
MOST_TIMES = 65536


def other_amount(before: np.ndarray, expected: np.ndarray, got: np.ndarray) -> str:
    """A sentence if all that is added to whole numbers is such a function of what should be.

    before: what the array held at first. "" if something else is wrong.
    """
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
