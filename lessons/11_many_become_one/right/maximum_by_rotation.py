"""Lanes look around the warp in a circle; NaN by comparison with itself."""

import math

from numba import cuda, float32
from numba.extending import register_jitable


@register_jitable
def larger(first, second):
    if first != first:
        return first
    if second != second:
        return second
    return max(first, second)


@register_jitable
def block_max(value, warp_maxima):
    thread = cuda.threadIdx.x
    lane = thread % 32
    for step in (1, 2, 4, 8, 16):
        value = larger(value, cuda.shfl_sync(0xFFFFFFFF, value, (lane + step) % 32))
    if lane == 31:
        warp_maxima[thread // 32] = value
    cuda.syncthreads()
    value = warp_maxima[lane % 8]
    for step in (1, 2, 4):
        value = larger(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, step))
    return value
