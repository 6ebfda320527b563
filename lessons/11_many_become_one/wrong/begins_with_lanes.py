"""The first step is as wide as the group."""
# caught by: warp_sum
# diagnosis: one round too many

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_sum(value, lanes):
    step = lanes
    while step > 0:
        value += cuda.shfl_xor_sync(ALL_LANES, value, step)
        step //= 2
    return value
