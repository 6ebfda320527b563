"""Checks of lesson 4. The grid is not square, and the batch not a multiple of a block."""

from lessons import reference
from lessons.grading.judge.case import check

THREADS = "grid", 1, 128  # one per sample
GRID_SHAPES = (5, 7, 3), (6, 4, 3)  # no octave of waves has 5 or 7
SMALL_BATCH, RAGGED_BATCH = 37, 257  # samples; three blocks have no equal shares of 257
MANY_BLOCKS = 4_200  # samples: work that each block does again for all after it is too often
LARGE_BATCH, FEW_SAMPLES = 5003, 300
# Name -> channels of the features.
GRID, CELL, WAVES, ONES = slice(0, 3), slice(3, 5), slice(5, 13), slice(13, 16)


@check("grid")
def test_grid(case):
    for shape in GRID_SHAPES:
        expect_channels(case, GRID, "grid_channels", encode(case, SMALL_BATCH, shape))


@check("sub_cell")
def test_sub_cell(case):
    for shape in GRID_SHAPES:
        expect_channels(case, CELL, "sub_cell_channels", encode(case, SMALL_BATCH, shape))


@check("fourier")
def test_fourier(case):
    encoded = encode(case, SMALL_BATCH, GRID_SHAPES[0])
    expect_channels(case, WAVES, "wave_channels", encoded)


@check("float32")
def test_float32(case):
    expect_features(case, encode(case, SMALL_BATCH, GRID_SHAPES[0]))


@check("whole_batch")
def test_whole_batch(case):
    expect_features(case, encode(case, RAGGED_BATCH, (3, 9, 3)))
    encode(case, MANY_BLOCKS, (3, 9, 3))
    batch = case.size(large=LARGE_BATCH, small=FEW_SAMPLES)
    expect_features(case, encode(case, batch, (50, 30, 3), engine="large"))


def encode(case, batch, grid_shape, engine=None):
    """(features, what they should be) after the student's kernel."""
    uv, grid = case.random((batch, 2)), case.random(grid_shape, -1, 1)
    features = case.output((batch, 16))
    if engine:
        case.run("launch_encode", uv, grid, features, engine=engine)
    else:
        counts = case.measure("launch_encode", uv, grid, features)
        case.require_many_threads(counts, features, THREADS)
    return features, reference.encode(uv, grid)


def expect_features(case, encoded):
    """All channels: first the ones, since no other check looks at them."""
    expect_channels(case, ONES, "last_channels", encoded)
    expect_channels(case, GRID, "grid_channels", encoded)
    expect_channels(case, CELL, "sub_cell_channels", encoded)
    expect_channels(case, WAVES, "wave_channels", encoded)
    features, expected = encoded
    case.expect(features, expected, "features", THREADS)


def expect_channels(case, channels, name, encoded):
    features, expected = encoded
    why = "these are ones" if channels == ONES else case.check.tolerance_reason
    place = f"{name}[:, 0] is features[:, {channels.start}]"
    got = features.array[:, channels]
    case.expect(got, expected[:, channels], name, THREADS, reason=f"{why}; {place}")
