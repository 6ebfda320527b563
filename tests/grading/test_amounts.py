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


FLOATS = np.linspace(-3, 3, 12)
STEPS = np.linspace(-2.1, 2.3, 12)


@pytest.mark.parametrize(
    "change, told",
    [
        (np.clip(STEPS, -1, 1), "No number changes by more than 1: 3 became 4, and should become"),
        (0.25 * STEPS, "Every number changes by 0.25 times what it should: 3 became 3.5"),
        (0.5 * np.sign(STEPS), "by 0.5, up or down"),
        (0 * STEPS, "No number has changed: 3 became 3, and should become 5.3"),
        (STEPS + 0.1, ""),
        (np.where(STEPS > 2, 1, STEPS), ""),  # two of them: something else may do that
        (np.maximum(STEPS, -1), ""),
        (STEPS**2, ""),
    ],
)
def test_changes_of_numbers_that_are_not_whole(change, told):
    found = other_amount(FLOATS, FLOATS + STEPS, FLOATS + change, 1e-6)
    assert told in found and bool(told) == bool(found)


def test_equal_changes_tell_nothing():
    assert not other_amount(FLOATS, FLOATS + 1, FLOATS + 0.5, 1e-6)
