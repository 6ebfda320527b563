"""What the draw of lesson 18 is like, and its rounds; `test_lessons.py` looks at the kernels."""

import numpy as np
import pytest

from kernels.palette.learner import Stages, first_centres, make_arrays, one_round
from kernels.plumbing.errors import InputError
from lessons.native_launch import launch as native
from lessons.reference import palette as reference


def test_chances_are_proportional_to_distances():
    """Four points, 4,000 draws: of each count the standard deviation is below 32."""
    distances = np.array([0.1, 0.2, 0.3, 0.4])
    winners = [reference.tickets(distances, number, 11).argmin() for number in range(4000)]
    np.testing.assert_allclose(np.bincount(winners) / 4000, distances, atol=0.032)


@pytest.mark.slow
def test_rounds_lower_the_error_and_fewer_colours_than_centres_are_no_problem():
    values = np.random.default_rng(0).random((1000, 3), np.float32)
    arrays = make_arrays(values, 16, np.array)
    first_centres(Stages(), arrays, 3, native)
    assert len(np.unique(arrays.centres, axis=0)) == 16
    errors = []
    for _ in range(6):
        one_round(Stages(), arrays, native, np.array)
        errors.append(arrays.distances.mean())
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.9 * errors[0]

    arrays = make_arrays(np.repeat(values[:2], 40, axis=0), 5, np.array)
    first_centres(Stages(), arrays, 3, native)
    one_round(Stages(), arrays, native, np.array)
    assert np.isfinite(arrays.centres).all() and arrays.distances.max() == 0


@pytest.mark.parametrize("count", [0, 1366])
def test_centres_that_have_no_room_are_refused(count):
    with pytest.raises(InputError, match=f"{count} centres of 3 numbers: there may be 1 to 1365"):
        make_arrays(np.ones((5, 3), np.float32), count, np.array)
