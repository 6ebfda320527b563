"""Each block stores its sums."""
# caught by: scatter
# diagnosis: stored, not added to

from numba import cuda
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS, CORNERS


@register_jitable
def add_to_corners(shares, deltas, grad_grid):
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    if thread < CORNERS * CHANNELS:
        corner = thread // CHANNELS
        channel = thread % CHANNELS
        row = cuda.blockIdx.y + corner // 2
        column = cuda.blockIdx.x + corner % 2
        total = sum_over_pixels(shares, corner, deltas, channel)
        grad_grid[row, column, channel] = total
