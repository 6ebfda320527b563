"""Checks of lesson 4. The grid is not square, and the batch not a multiple of a block."""

import numpy as np

from lessons import reference
from lessons.grading.case import check

THREADS = ("grid", 1, 128)
GRID_SHAPE = 5, 7, 3
SMALL_BATCH, RAGGED_BATCH = 37, 150
FOURIER, PADDING = slice(5, 13), slice(13, 16)


@check("grid")
def test_grid(case):
    uv, grid, features = encoded(case, SMALL_BATCH)
    expected = reference.encode(uv, grid)[:, :3]
    candidates = {
        "axes exchanged": (
            reference.bilinear(grid, uv[:, ::-1]),
            "u and v are exchanged: u goes to the right, v down.",
        ),
        "nearest cell": (
            nearest(grid, uv),
            "Each sample got the value of the nearest cell; it should be a blend of four.",
        ),
    }
    case.expect(features.array[:, :3], expected, "grid_channels", THREADS, candidates=candidates)


@check("sub_cell")
def test_sub_cell(case):
    uv, grid, features = encoded(case, SMALL_BATCH)
    expected = reference.encode(uv, grid)[:, 3:5]
    sizes = np.array([grid.shape[1], grid.shape[0]], np.float64)
    candidates = {
        "axes exchanged": (
            np.sin(2 * np.pi * (uv * sizes[::-1] - 0.5)),
            "The grid's width and height are exchanged: shape is (height, width, 3).",
        ),
        "half a cell": (
            np.sin(2 * np.pi * uv * sizes),
            "The wave starts at a cell's edge; it should start at its centre, like the fraction.",
        ),
        "radians": (
            np.sin(np.mod(uv * sizes - 0.5, 1)),
            "The angle was taken in radians: one cell is one whole turn.",
        ),
        "not a sine": (
            np.mod(uv * sizes - 0.5, 1),
            "These are the fractions themselves: the channels want sine_of_turns of them.",
        ),
    }
    name = "sub_cell_channels"
    case.expect(features.array[:, 3:5], expected, name, THREADS, candidates=candidates)


@check("fourier")
def test_fourier(case):
    uv, grid, features = encoded(case, SMALL_BATCH)
    uv = uv.astype(np.float64)
    expected = reference.encode(uv, grid)[:, FOURIER]
    candidates = {
        "cosine is a sine": (
            waves(uv, quarter=0),
            "The cosines are sines: a cosine starts a quarter turn earlier.",
        ),
        "quarter turn late": (
            waves(uv, quarter=-0.25),
            "The cosines have the wrong sign: add a quarter turn, do not subtract it.",
        ),
        "not doubled": (
            waves(uv, factors=(1, 1)),
            "Both octaves are the same wave: double it from one octave to the next.",
        ),
        "tripled": (waves(uv, factors=(1, 3)), "The second octave has three waves, not two."),
        "one octave late": (
            waves(uv, factors=(2, 4)),
            "The waves are doubled before the first octave is written.",
        ),
        "axes exchanged": (waves(uv[:, ::-1]), "The waves of u and v are exchanged."),
        "one axis": (waves(uv[:, [0, 0]]), "Both halves are waves of u: the second belongs to v."),
        "goes on doubling": (
            np.hstack([waves(uv)[:, :4], waves(uv, factors=(4, 8))[:, 4:]]),
            "For v the doubling went on where u had stopped: begin each axis with one wave.",
        ),
        "channel stays": (
            np.ones_like(expected),
            "All are ones: each wave was written to the same channel, and the ones over the rest.",
        ),
        "wrong order": (
            waves(uv)[:, [0, 2, 1, 3, 4, 6, 5, 7]],
            "All sines come first, then all cosines: each octave should be sine, cosine.",
        ),
        "octave by octave": (
            waves(uv)[:, [0, 1, 4, 5, 2, 3, 6, 7]],
            "The octaves are in the outer loop: all of u should come before all of v.",
        ),
        "radians": (
            waves(uv / (2 * np.pi), quarter=0.25),
            "The angle was taken in radians: one wave is one whole turn.",
        ),
    }
    name = "wave_channels"
    case.expect(features.array[:, FOURIER], expected, name, THREADS, candidates=candidates)


@check("whole_batch")
def test_whole_batch(case):
    uv, grid, features = encoded(case, RAGGED_BATCH)
    ones = np.ones((RAGGED_BATCH, 3))
    candidates = {
        "zeros": (0 * ones, "Channels 13 to 15 are zeros: with ones, their weights act as a bias.")
    }
    name = "last_channels"
    case.expect(features.array[:, PADDING], ones, name, THREADS, candidates=candidates)
    case.expect(features, reference.encode(uv, grid), "features", THREADS)
    uv, grid, features = encoded(case, 5003, engine="native")
    case.expect(features, reference.encode(uv, grid), "features", THREADS)


def encoded(case, batch, engine=None):
    uv, grid = case.random((batch, 2)), case.random(GRID_SHAPE, -1, 1)
    features = case.output((batch, 16))
    case.run("launch_encode", uv, grid, features, engine=engine)
    return uv, grid, features


def waves(uv, factors=(1, 2), quarter=0.25):
    """The eight Fourier channels; the arguments are what can be got wrong."""
    columns = [
        np.sin(2 * np.pi * (factor * uv[:, axis] + shift))
        for axis in range(2)
        for factor in factors
        for shift in (0, quarter)
    ]
    return np.stack(columns, axis=1)


def nearest(grid, uv):
    height, width, _ = grid.shape
    rows = np.minimum((uv[:, 1] * height).astype(int), height - 1)
    columns = np.minimum((uv[:, 0] * width).astype(int), width - 1)
    return grid[rows, columns]
