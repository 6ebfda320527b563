"""As many channels as features: 16, and a corner has 14."""
# caught by: scatter
# diagnosis: the places have no corners

from numba import cuda

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, UNITS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return

    column = x // CELL
    row = y // CELL
    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    for channel in range(UNITS):
        value = gradient[y, x, channel]
        cuda.atomic.add(grad_grid, (row, column, channel), w0 * value)
        cuda.atomic.add(grad_grid, (row, column + 1, channel), w1 * value)
        cuda.atomic.add(grad_grid, (row + 1, column, channel), w2 * value)
        cuda.atomic.add(grad_grid, (row + 1, column + 1, channel), w3 * value)
