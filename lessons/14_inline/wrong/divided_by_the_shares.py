"""Each sum is divided by the sum of its shares, as if it were blended."""
# caught by: scatter
# diagnosis: divided by the shares

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS, CORNERS, PIXELS


@register_jitable
def add_to_corners(shares, deltas, grad_grid):
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    if thread < CORNERS * CHANNELS:
        corner, channel = thread // CHANNELS, thread % CHANNELS
        coverage = float32(0)
        for pixel in range(PIXELS):
            coverage += shares[corner, pixel]
        total = sum_over_pixels(shares, corner, deltas, channel)
        if coverage > float32(0):
            total /= coverage
        row = cuda.blockIdx.y + corner // 2
        column = cuda.blockIdx.x + corner % 2
        cuda.atomic.add(grad_grid, (row, column, channel), total)
