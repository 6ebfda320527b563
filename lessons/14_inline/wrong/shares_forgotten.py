"""Each corner gets the whole gradient."""
# caught by: scatter
# diagnosis: shares forgotten

from numba import cuda

from kernels.inline.sizes import CELL, CHANNELS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return

    column = x // CELL
    row = y // CELL
    for channel in range(CHANNELS):
        value = gradient[y, x, channel]
        cuda.atomic.add(grad_grid, (row, column, channel), value)
        cuda.atomic.add(grad_grid, (row, column + 1, channel), value)
        cuda.atomic.add(grad_grid, (row + 1, column, channel), value)
        cuda.atomic.add(grad_grid, (row + 1, column + 1, channel), value)
