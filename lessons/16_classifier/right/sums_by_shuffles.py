"""Butterfly shuffles: every thread has the result, without a barrier."""

from numba import cuda
from numba.extending import register_jitable

from kernels.classifier.softmax import CLASS_THREADS


@register_jitable
def sum_of_block(shared, value):
    step = CLASS_THREADS // 2
    while step > 0:
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
        step //= 2
    return value
