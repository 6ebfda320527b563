"""The kernels of lesson 18 against float64, on each engine there is; and what the draw is like."""

import numpy as np
import pytest

from kernels.palette import accumulate, assign, draw
from kernels.palette.learner import Stages, first_centres, make_arrays, one_round
from kernels.plumbing.errors import InputError
from lessons.native_launch import launch as native
from lessons.reference import palette as reference

pytestmark = pytest.mark.gpu
# Points, channels, centres: one of each, more numbers than a block has threads; a block and a bit.
OTHERS = (1, 1, 1), (257, 64, 24)
SIZES = [(300, 3, 32), *(pytest.param(*s, marks=pytest.mark.thorough) for s in OTHERS)]


def random(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


@pytest.mark.slow_on("native")
@pytest.mark.parametrize(("points", "channels", "centres"), SIZES)
def test_a_round(engine, points, channels, centres):
    values, begin = random(points, channels), random(centres, channels, seed=1)
    labels, distances = engine.output((points,), dtype=np.int32), engine.output((points,))
    given = engine.array(values)
    assign.launch_assign(
        given, engine.array(begin), labels.array, distances.array, launch=engine.launch
    )
    nearest, least = reference.nearest(values, begin)
    np.testing.assert_array_equal(labels.read(), nearest)
    np.testing.assert_allclose(distances.read(), least, atol=1e-5)

    right, numbers = reference.sums_of(values, nearest, centres)
    sums = engine.output((centres, channels), np.ones((centres, channels)))
    counts = engine.output((centres,), np.full(centres, 2), dtype=np.int32)
    accumulate.launch_accumulate(
        given, labels.array, sums.array, counts.array, launch=engine.launch
    )
    np.testing.assert_allclose(sums.read(), right + 1, atol=1e-4)
    np.testing.assert_array_equal(counts.read(), numbers + 2)

    moved = engine.output(begin.shape, begin)
    accumulate.launch_move(
        engine.array(right), engine.array(numbers, np.int32), moved.array, launch=engine.launch
    )
    expected = reference.moved(right, numbers, begin)
    np.testing.assert_allclose(moved.read(), expected, atol=1e-5)


@pytest.mark.slow_on("native")
@pytest.mark.parametrize(
    "points", [300, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 513))]
)
def test_the_lowest_ticket_wins(engine, points):
    values, centres = random(points, 3), random(4, 3, seed=1)
    distances = engine.output((points,), np.ones(points))
    winners = engine.output((4,), np.full(4, draw.NOBODY), dtype=np.int64)
    least = np.ones(points)
    for number in range(4):
        draw.launch_draw(
            engine.array(values), engine.array(centres), number, np.uint64(7 << 32 | 5),
            distances.array, winners.array, launch=engine.launch,
        )  # fmt: skip
        if number > 0:
            least = np.minimum(least, reference.nearest(values, centres[number - 1 : number])[1])
        tickets = reference.tickets(least, number, 7 << 32 | 5)
        pair = winners.read()[number]
        np.testing.assert_allclose(distances.read(), least, rtol=1e-5)
        assert pair & 0xFFFFFFFF == tickets.argmin()
        lowest = np.int32(pair >> 32).view(np.float32)
        np.testing.assert_allclose(lowest, tickets.min(), rtol=1e-4)


def test_chances_are_proportional_to_distances():
    """Four points, 4,000 draws: of each count the standard deviation is below 32."""
    distances = np.array([0.1, 0.2, 0.3, 0.4])
    winners = [reference.tickets(distances, number, 11).argmin() for number in range(4000)]
    np.testing.assert_allclose(np.bincount(winners) / 4000, distances, atol=0.032)


@pytest.mark.slow
def test_rounds_lower_the_error_and_fewer_colours_than_centres_are_no_problem():
    values = random(1000, 3)
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
        make_arrays(random(5, 3), count, np.array)
