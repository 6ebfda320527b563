"""On the way back the places are turned round, and each corner gets the share of another."""
# caught by: scatter
# diagnosis: corners reversed

from numba import cuda, float32

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if y < gradient.shape[0] and x < gradient.shape[1]:
        row, column = y // CELL, x // CELL
        u, v = float32(1) - place_in_cell(x), float32(1) - place_in_cell(y)
        w0, w1, w2, w3 = corner_weights(u, v)
        for channel in range(CHANNELS):
            value = gradient[y, x, channel]
            cuda.atomic.add(grad_grid, (row, column, channel), w0 * value)
            cuda.atomic.add(grad_grid, (row, column + 1, channel), w1 * value)
            cuda.atomic.add(grad_grid, (row + 1, column, channel), w2 * value)
            cuda.atomic.add(grad_grid, (row + 1, column + 1, channel), w3 * value)
