"""The rounds end before step 1."""
# caught by: warp_sum
# diagnosis: last round missing

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_sum(value, lanes):
    step = lanes // 2
    while step > 1:
        value += cuda.shfl_xor_sync(ALL_LANES, value, step)
        step //= 2
    return value
