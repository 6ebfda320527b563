"""What is told of sums that are added by no thread, or by several."""

import numpy as np
import pytest

from lessons.grading.advice.owners import other_owners

SIDE = 16
SUMS = np.random.default_rng(4).uniform(0.5, 3, 56)
Y, X = np.indices((SIDE, SIDE)).reshape(2, -1)


def added(begin, step=SIDE * SIDE, count=56):
    times = np.zeros(count)
    for first in begin:
        times[first::step] += 1
    return times


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (
            added(X),
            "takes threadIdx.x alone or threadIdx.y alone for its number in the block, which is",
        ),
        (added(Y, SIDE), "threadIdx.x, and goes on in steps of 16, not 256"),
        (added(X + Y), "takes threadIdx.x + threadIdx.y for its number"),
        (added(Y * SIDE + X, SIDE), "in steps of 16: there are 256"),
        (np.arange(56) % 3, "19 of the 56 sums are not added, and 18 are added more than once"),
    ],
)
def test_other_owners_are_told(times, words):
    (found,), said = other_owners([(SUMS, SUMS * times)], SIDE, SIDE)
    assert np.allclose(found, SUMS * times) and words in said


@pytest.mark.parametrize("times", [1, 5, 0.5, np.inf, np.linspace(0, 1, 56), -np.arange(56)])
def test_one_factor_for_all_and_what_is_no_count_is_not(times):
    assert other_owners([(SUMS, SUMS * times)], SIDE, SIDE) is None


def test_a_sum_next_to_nothing_tells_nothing():
    right = np.where(np.arange(56) == 7, 1e-9, SUMS)
    wrong = right * added(X) + np.where(np.arange(56) == 7, 1e-5, 0)
    (found,), said = other_owners([(right, wrong)], SIDE, SIDE)
    assert np.allclose(found, wrong) and "takes threadIdx.x alone or" in said
