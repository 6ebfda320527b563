"""The left corners get the share of the right ones, whose columns come first in the tuple."""
# caught by: scatter
# diagnosis: corners reversed along x

from numba import cuda

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return
    row, column = y // CELL, x // CELL
    top_right, top_left, low_right, low_left = corner_weights(place_in_cell(x), place_in_cell(y))
    for channel in range(CHANNELS):
        value = gradient[y, x, channel]
        cuda.atomic.add(grad_grid, (row, column, channel), top_left * value)
        cuda.atomic.add(grad_grid, (row, column + 1, channel), top_right * value)
        cuda.atomic.add(grad_grid, (row + 1, column, channel), low_left * value)
        cuda.atomic.add(grad_grid, (row + 1, column + 1, channel), low_right * value)
