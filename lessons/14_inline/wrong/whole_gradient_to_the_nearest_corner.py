"""The whole gradient of a pixel goes to its nearest corner."""
# caught by: scatter
# diagnosis: to the nearest corner

from numba import cuda, float32

from kernels.inline.sizes import CELL, CHANNELS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    height, width, _ = gradient.shape
    if x < width and y < height:
        column, row = x // CELL, y // CELL
        if place_in_cell(x) >= float32(0.5):
            column += 1
        if place_in_cell(y) >= float32(0.5):
            row += 1
        for n in range(CHANNELS):
            cuda.atomic.add(grad_grid, (row, column, n), gradient[y, x, n])
