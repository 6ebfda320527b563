"""A sum is taken for one that all threads share: each takes its own pixel only."""
# caught by: scatter
# diagnosis: one pixel each

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, PIXELS


@register_jitable
def sum_over_pixels(inputs, k, deltas, unit):
    start = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    threads = CELL * CELL
    total = float32(0)
    for p in range(start, PIXELS, threads):
        total += inputs[k, p] * deltas[unit, p]
    return total
