"""A simple rule by which wrong numbers come from the right ones, and columns that are right."""

import numpy as np

from lessons.grading.advice.comparison import Comparison
from lessons.grading.advice.unwritten import Diagnosis

FEWEST = 4  # wrong numbers, and different ones among those that they should be
MOST_COLUMNS = 16  # that are told by their numbers


def the_rest_to_one(comparison: Comparison) -> Diagnosis | None:
    """Each wrong number is 1 minus the right one, whatever others are."""
    expected, got = (one[comparison.wrong] for one in (comparison.expected, comparison.got))
    if len(expected) < FEWEST or not comparison.close(got, 1 - expected).all():
        return None
    if len(np.unique(np.round(expected, 6))) < FEWEST - 1:
        return None
    return Diagnosis(
        "wrong by the rest to 1",
        "Each wrong value is 1 minus what it should be: is it the other part, what is left over, "
        "or counted from the other end?",
    )


def which_are_right(comparison: Comparison) -> str:
    """More to say of values in no known pattern if whole columns are right; else nothing."""
    shape = comparison.wrong.shape
    if len(shape) < 2 or not 2 <= shape[-1] <= MOST_COLUMNS:
        return ""
    wrong = comparison.wrong.reshape(-1, shape[-1])
    of_columns = [bool(column.any()) for column in wrong.T]
    if len(wrong) < FEWEST or all(of_columns):
        return ""
    before = ":, " * (len(shape) - 1)
    names = [f"[{before}{column}]" for column in range(shape[-1])]
    right = [name for name, is_wrong in zip(names, of_columns, strict=True) if not is_wrong]
    rest = [name for name in names if name not in right]
    if len(right) <= len(rest):
        return f" All of {' and '.join(right)} is right: look at what makes the others."
    return f" Only {' and '.join(rest)} is wrong: look at what makes that."
