"""Amounts that are an exact function of the right ones."""

import numpy as np
import pytest

from lessons.grading.advice.amounts import other_amount

BEFORE = np.array([1, 0, 7, 30])
RIGHT = BEFORE + np.array([99, 2, 0, 5])


@pytest.mark.parametrize(
    "added, told",
    [
        ([99 * 99, 4, 0, 25], "1 was there, 99 x 99 was added, in place of 99"),
        ([297, 6, 0, 15], "added 3 times: 1 was there, 3 x 99 was added"),
        ([297, 6, 1, 15], ""),
        ([99, 2, 0, 6], ""),
        ([0, 0, 0, 0], ""),
    ],
)
def test_squares_and_multiples_are_told_with_an_example(added, told):
    found = other_amount(BEFORE, RIGHT, BEFORE + added)
    assert told in found and bool(told) == bool(found)


def test_equal_amounts_tell_nothing():
    assert not other_amount(BEFORE, BEFORE + 3, BEFORE + 9)
