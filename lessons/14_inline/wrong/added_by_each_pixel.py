"""A block adds pixel by pixel after all."""
# caught by: few_additions
# diagnosis: added pixel by pixel

from numba import cuda

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@cuda.jit
def scatter_block(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return

    column = x // CELL
    row = y // CELL
    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    for channel in range(CHANNELS):
        value = gradient[y, x, channel]
        cuda.atomic.add(grad_grid, (row, column, channel), w0 * value)
        cuda.atomic.add(grad_grid, (row, column + 1, channel), w1 * value)
        cuda.atomic.add(grad_grid, (row + 1, column, channel), w2 * value)
        cuda.atomic.add(grad_grid, (row + 1, column + 1, channel), w3 * value)
