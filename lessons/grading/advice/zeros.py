"""A pattern of places: zeros from one index on, or up to one, and all others are right."""

import numpy as np

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis

FEWEST = 3  # zeros; one or two may be there for many reasons


def zero_in_a_part(comparison: Comparison) -> Diagnosis | None:
    """All that is wrong is zero, and lies side by side along each axis."""
    wrong, shape = comparison.wrong, comparison.got.shape
    if np.count_nonzero(wrong) < FEWEST or wrong.all() or (comparison.got[wrong] != 0).any():
        return None
    axes = range(wrong.ndim)
    used = [wrong.any(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    indices = [np.flatnonzero(one) for one in used]
    if any(len(one) != one[-1] - one[0] + 1 for one in indices):
        return None
    part = np.ix_(*indices)
    nothing_there = comparison.close(comparison.expected[part], np.zeros(()))
    if not (wrong[part] | nothing_there).all():
        return None
    found = [span(axis, one, shape[axis]) for axis, one in enumerate(indices)]
    where = " and ".join(words for words in found if words)
    if not where:
        return None
    return Diagnosis(
        "zero in a part",
        f"Every value is zero {where}, and all others are right. What is done there in another "
        "way: is 0 stored, is nothing added up, are zeros fetched, or is it cleared afterwards?",
    )


def span(axis: int, indices: np.ndarray, length: int) -> str:
    """Which indices along an axis; "" for all of them."""
    first, last = int(indices[0]), int(indices[-1])
    if len(indices) == length:
        return ""
    if first == last:
        return f"at index {first} of axis {axis}"
    if last == length - 1:
        return f"from index {first} of axis {axis} on"
    return f"from index {first} to {last} of axis {axis}"
