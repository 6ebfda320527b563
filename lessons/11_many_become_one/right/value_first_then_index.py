"""First the largest value of the warp, then the lowest index among those that have it."""

import math

from numba import cuda, int32
from numba.extending import register_jitable


@register_jitable
def comes_first(value, index, other, other_index):
    mine, yours = math.isnan(value), math.isnan(other)
    if mine or yours:
        return mine and (not yours or index < other_index)
    return value > other or (value == other and index < other_index)


@register_jitable
def warp_argmax(value, index, lanes):
    largest = value
    step = lanes // 2
    while step > 0:
        other = cuda.shfl_xor_sync(0xFFFFFFFF, largest, step)
        if math.isnan(other) or other > largest:
            largest = other
        step //= 2
    has_it = value == largest or (math.isnan(value) and math.isnan(largest))
    lowest = index if has_it else int32(0x7FFFFFFF)
    step = lanes // 2
    while step > 0:
        lowest = min(lowest, cuda.shfl_xor_sync(0xFFFFFFFF, lowest, step))
        step //= 2
    return largest, lowest
