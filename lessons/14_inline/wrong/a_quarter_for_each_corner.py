"""Each corner gets a quarter of a pixel's gradient."""
# caught by: scatter
# diagnosis: a quarter for each corner

from numba import cuda, float32

from kernels.inline.sizes import CELL, CHANNELS, CORNERS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return
    for corner in range(CORNERS):
        row, column = y // CELL + corner // 2, x // CELL + corner % 2
        for channel in range(CHANNELS):
            part = gradient[y, x, channel] / float32(CORNERS)
            cuda.atomic.add(grad_grid, (row, column, channel), part)
