"""Lanes with nobody that far below add what the shuffle gives them: their own value."""
# caught by: prefix_sum
# diagnosis: own value twice

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES, WARP


@register_jitable
def warp_prefix(value):
    step = 1
    while step < WARP:
        value += cuda.shfl_up_sync(ALL_LANES, value, step)
        step *= 2
    return value
