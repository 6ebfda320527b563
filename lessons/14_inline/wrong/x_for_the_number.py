"""threadIdx.x alone is taken for the thread's number in the block."""
# caught by: scatter
# diagnosis: takes threadIdx.x alone or threadIdx.y alone for its number in the block

from numba import cuda
from numba.extending import register_jitable

from kernels.inline.sizes import CHANNELS, CORNERS


@register_jitable
def add_to_corners(shares, deltas, grad_grid):
    thread = cuda.threadIdx.x
    if thread < CORNERS * CHANNELS:
        corner = thread // CHANNELS
        channel = thread % CHANNELS
        row = cuda.blockIdx.y + corner // 2
        column = cuda.blockIdx.x + corner % 2
        total = sum_over_pixels(shares, corner, deltas, channel)
        cuda.atomic.add(grad_grid, (row, column, channel), total)
