"""The kernels of lesson 20 against float64 and whole numbers, on each engine there is."""

import numpy as np
import pytest

from kernels.bits import cells, quantise, texel
from lessons.reference import bits as reference

pytestmark = pytest.mark.gpu
BITS = [4, *(pytest.param(b, marks=pytest.mark.thorough) for b in (1, 3, 7, 10))]


def values_near_levels(count, bits, seed=0):
    """float32, at most 0.45 of a step from a level, and some of them beyond -1 and 1."""
    random = np.random.default_rng(seed)
    steps = 2**bits - 1
    levels = random.integers(-2, steps + 3, count)
    return np.float32((levels + random.uniform(-0.45, 0.45, count)) * 2 / steps - 1)


@pytest.mark.slow_on("native")
@pytest.mark.parametrize("bits", BITS)
def test_values_are_rounded_and_follow(engine, bits):
    values = values_near_levels(300, bits)
    quantised = engine.output((300,))
    quantise.launch_quantise(engine.array(values), bits, quantised.array, launch=engine.launch)
    right = reference.values_of(reference.levels_of(values, bits), bits)
    np.testing.assert_allclose(quantised.read(), right, atol=1e-6)

    moved = np.float32(right + np.random.default_rng(1).uniform(-0.1, 0.1, 300))
    followed = engine.output((300,), values)
    quantise.launch_follow(
        followed.array, engine.array(right), engine.array(moved), launch=engine.launch
    )
    expected = reference.followed(values, np.float32(right), moved)
    np.testing.assert_allclose(followed.read(), expected, atol=1e-6)
    assert (followed.read() == values)[np.abs(values) > 1].all()


@pytest.mark.slow_on("native")
@pytest.mark.parametrize("bits", BITS)
def test_cells_are_packed_and_read_in_any_order(engine, bits):
    values = values_near_levels(3 * 101, bits)
    levels = reference.levels_of(values, bits)
    right = reference.packed(levels, bits)
    words = engine.output(right.shape, dtype=np.uint32)
    cells.launch_pack_cells(engine.array(values), bits, words.array, launch=engine.launch)
    np.testing.assert_array_equal(words.read(), right)

    order = np.random.default_rng(2).permutation(101)
    found = engine.output((101, 3), dtype=np.int32)
    cells.launch_read_cells(
        engine.array(right, np.uint32), bits, engine.array(order, np.int32), found.array,
        launch=engine.launch,
    )  # fmt: skip
    np.testing.assert_array_equal(found.read(), levels.reshape(-1, 3)[order])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "columns", "rows"), [(5, 9, 6), pytest.param(10, 1, 1, marks=pytest.mark.thorough)]
)
def test_texels_are_decoded(engine, bits, columns, rows):
    random = np.random.default_rng(3)
    levels = random.integers(0, 2**bits, rows * columns * 3)
    weights = random.normal(0, 0.3, texel.WEIGHTS).astype(np.float32)
    texels = random.permutation(31 * 23)[:40]
    colours = engine.output((40, 3))
    texel.launch_decode_texels(
        engine.array(reference.packed(levels, bits), np.uint32), bits, columns, rows,
        engine.array(weights), 31, 23, engine.array(texels, np.int32), colours.array,
        launch=engine.launch,
    )  # fmt: skip
    grid = reference.values_of(levels, bits).reshape(rows, columns, 3)
    expected = reference.decode(grid, weights, 31, 23, texels)
    np.testing.assert_allclose(colours.read(), expected, atol=1e-5)
    assert expected.std() > 0.1
