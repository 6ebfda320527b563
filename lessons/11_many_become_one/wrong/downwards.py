"""warp_sum by shfl_down_sync: only the first lane has the sum."""
# caught by: warp_sum
# diagnosis: in one direction

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_sum(value, lanes):
    step = lanes // 2
    while step > 0:
        value += cuda.shfl_down_sync(ALL_LANES, value, step)
        step //= 2
    return value
