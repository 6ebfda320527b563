"""An owner of four sums does not set its total back to 0 between them."""
# caught by: scatter
# diagnosis: sum goes on over the corners

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def add_to_corners(shares, deltas, grad_grid):
    channel = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    if channel >= CHANNELS:
        return
    total = float32(0)
    for down in range(2):
        for across in range(2):
            corner = 2 * down + across
            total += sum_over_pixels(shares, corner, deltas, channel)
            where = (cuda.blockIdx.y + down, cuda.blockIdx.x + across, channel)
            cuda.atomic.add(grad_grid, where, total)
