"""One sum, pixel after pixel."""

from numba import float32
from numba.extending import register_jitable

from kernels.inline.sizes import PIXELS


@register_jitable
def sum_over_pixels(inputs, k, deltas, unit):
    total = float32(0)
    for pixel in range(PIXELS):
        total += inputs[k, pixel] * deltas[unit, pixel]
    return total
