"""Each pixel hands its share to its nearest corner only."""
# caught by: scatter
# diagnosis: its share to the nearest or first corner

from numba import cuda

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@cuda.jit
def scatter_direct(gradient, grad_grid):
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return
    shares = corner_weights(place_in_cell(x), place_in_cell(y))
    best = 0
    for corner in range(4):
        if shares[corner] > shares[best]:
            best = corner
    row, column = y // CELL + best // 2, x // CELL + best % 2
    for channel in range(CHANNELS):
        part = shares[best] * gradient[y, x, channel]
        cuda.atomic.add(grad_grid, (row, column, channel), part)
