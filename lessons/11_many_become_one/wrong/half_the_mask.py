"""The mask names 16 lanes, and 32 come."""
# caught by: warp_sum
# diagnosis: mask

from numba import cuda
from numba.extending import register_jitable


@register_jitable
def warp_sum(value, lanes):
    step = lanes // 2
    while step > 0:
        value += cuda.shfl_xor_sync(0xFFFF, value, step)
        step //= 2
    return value
