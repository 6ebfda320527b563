"""The best that bilinear interpolation can do: the grid whose enlargement is nearest to an image.

Shrinking an image and enlarging it again is a fair baseline, and not the hardest one. Among all
grids of a size there is one whose enlargement has the least squared error. Enlarging is linear,
first along one axis, then along the other: image = R G C, where the rows of R and the columns of C
hold the two weights of a pixel. So the best G comes from two least-squares problems, R X = image
and then G C = X. In each the normal equations are tridiagonal, since no pixel lies between more
than two cells; eliminating and substituting back solves them exactly.
"""

from typing import NamedTuple

import numpy as np

# Where a cell has no pixel of its own, nothing says what it holds: keep such cells small.
RIDGE = 1e-9


class AxisWeights(NamedTuple):
    """The two cells that each pixel of an axis lies between: (n,) indices, and `high`'s weight."""

    low: np.ndarray
    high: np.ndarray
    fraction: np.ndarray


def axis_weights(pixels: int, cells: int) -> AxisWeights:
    """As `field_math.neighbours` at the centres of `pixels` pixels, in float64."""
    position = (np.arange(pixels) + 0.5) / pixels * cells - 0.5
    floor = np.floor(position)
    low = np.maximum(floor, 0).astype(np.int64)
    high = np.minimum(floor + 1, cells - 1).astype(np.int64)
    return AxisWeights(low, high, position - floor)


def best_grid(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """The (height, width, 3) float64 grid whose enlargement is nearest to `image`.

    image: (H, W, 3). The grid's values are whatever serves, also below 0 or above 1.
    """
    grid = fit_first_axis(image, height).swapaxes(0, 1)
    return fit_first_axis(grid, width).swapaxes(0, 1)


def enlarge(grid: np.ndarray, width: int, height: int) -> np.ndarray:
    """The grid sampled bilinearly at width x height pixel centres: (height, width, 3) float32.

    Clipped to [0, 1], as a screen would do: that only brings it nearer to an image.
    """
    rows = blend_first_axis(grid, height).swapaxes(0, 1)
    return np.clip(blend_first_axis(rows, width).swapaxes(0, 1), 0, 1)


def blend_first_axis(cells: np.ndarray, pixels: int) -> np.ndarray:
    low, high, fraction = axis_weights(pixels, len(cells))
    weight = fraction.astype(np.float32).reshape(-1, 1, 1)
    cells = cells.astype(np.float32)
    return cells[low] * (1 - weight) + cells[high] * weight


def fit_first_axis(values: np.ndarray, cells: int) -> np.ndarray:
    """The cells whose blends along the first axis are nearest to `values`: (cells, ...) float64."""
    weights = axis_weights(len(values), cells)
    diagonal = np.full(cells, RIDGE)
    beside = np.zeros(cells)  # entry i: between cells i and i + 1
    sums = np.zeros((cells, *values.shape[1:]))
    for low, high, fraction, value in zip(*weights, values, strict=True):
        rest = 1 - fraction
        if low == high:
            fraction, rest = 0.0, 1.0
        diagonal[low] += rest * rest
        diagonal[high] += fraction * fraction
        beside[low] += rest * fraction
        sums[low] += rest * value
        sums[high] += fraction * value
    return solve_tridiagonal(diagonal, beside, sums)


def solve_tridiagonal(diagonal: np.ndarray, beside: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Solve M X = sums for a symmetric, positive M. Both `diagonal` and `sums` are used up.

    beside: entry i is M[i, i + 1] and M[i + 1, i]. sums: (n, ...).
    """
    for i in range(1, len(sums)):
        factor = beside[i - 1] / diagonal[i - 1]
        diagonal[i] -= factor * beside[i - 1]
        sums[i] -= factor * sums[i - 1]
    sums[-1] /= diagonal[-1]
    for i in range(len(sums) - 2, -1, -1):
        sums[i] = (sums[i] - beside[i] * sums[i + 1]) / diagonal[i]
    return sums
