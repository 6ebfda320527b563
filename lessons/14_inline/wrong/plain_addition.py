"""Pixels add to the corners without atomics."""
# caught by: scatter
# diagnosis: race

from numba import cuda

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return

    column = x // CELL
    row = y // CELL
    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    for channel in range(CHANNELS):
        value = gradient[y, x, channel]
        grad_grid[row, column, channel] += w0 * value
        grad_grid[row, column + 1, channel] += w1 * value
        grad_grid[row + 1, column, channel] += w2 * value
        grad_grid[row + 1, column + 1, channel] += w3 * value
