"""Lanes add what is above them: sums up to the end."""
# caught by: prefix_sum
# diagnosis: backwards

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES, WARP


@register_jitable
def warp_prefix(value):
    lane = cuda.threadIdx.x % WARP
    step = 1
    while step < WARP:
        above = cuda.shfl_down_sync(ALL_LANES, value, step)
        if lane + step < WARP:
            value += above
        step *= 2
    return value
