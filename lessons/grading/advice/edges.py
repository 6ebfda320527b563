"""Patterns of indices that a kernel leaves out: the beginning, the border, all but each second."""

import numpy as np

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis

WIDEST_BORDER = 3  # elements
FEWEST_WRITTEN = 3  # indices in equal steps, so that it is no accident


def beginning_not_written(comparison: Comparison) -> Diagnosis | None:
    """The first few indices along one or more axes are left out, and nothing else."""
    shape = comparison.got.shape
    if not comparison.unwritten.any() or not comparison.written.any():
        return None
    first = [int(indices.min()) for indices in np.nonzero(comparison.written)]
    if comparison.unwritten[tuple(slice(start, None) for start in first)].any():
        return None
    names = " and ".join(
        f"axis {axis}: up to index {first[axis] - 1}" for axis in range(len(shape)) if first[axis]
    )
    return Diagnosis(
        "beginning not written",
        f"The beginning was not written ({names}): does an index begin at 1, or is something added "
        "to it?",
    )


def border_not_written(comparison: Comparison) -> Diagnosis | None:
    """The first few indices are left out, and the last few, and nothing else."""
    if not comparison.unwritten.any() or not comparison.written.any():
        return None
    ends = [(int(one.min()), int(one.max()) + 1) for one in np.nonzero(comparison.written)]
    if comparison.unwritten[tuple(slice(*two) for two in ends)].any():
        return None
    sides = [
        max(begin, n - end) for n, (begin, end) in zip(comparison.got.shape, ends, strict=True)
    ]
    if max(sides) > WIDEST_BORDER:
        return None
    names = " and ".join(
        f"index {ends[axis][0]} to {ends[axis][1] - 1} along axis {axis}"
        for axis, side in enumerate(sides) if side
    )  # fmt: skip
    return Diagnosis(
        "border not written",
        f"Only {names} was written; the border is left out: does a guard keep away "
        "from the edges, as for neighbours? These threads have an element, too.",
    )


def written_in_steps(comparison: Comparison) -> Diagnosis | None:
    """Every second index along an axis, or every third, and nothing else."""
    places = [np.unique(one) for one in np.nonzero(comparison.written)]
    if not comparison.unwritten.any() or not all(map(len, places)):
        return None
    if comparison.unwritten[np.ix_(*places)].any():
        return None
    steps = [set(np.diff(one).tolist()) for one in places]
    told = []
    for axis, (used, step) in enumerate(zip(places, steps, strict=True)):
        if len(step) > 1 or len(used) < FEWEST_WRITTEN or step == {1}:
            continue
        (width,) = step
        first = ", ".join(map(str, used[:FEWEST_WRITTEN]))
        told.append(f"{first} and so on along axis {axis}, in steps of {width}")
    if not told:
        return None
    return Diagnosis(
        "written in steps",
        f"Only these indices were written: {'; '.join(told)}. Is an index multiplied by that, or "
        "does a loop go on by it?",
    )
