"""Steps of four, and one pixel per step."""
# caught by: scatter
# diagnosis: every fourth pixel

from numba import float32
from numba.extending import register_jitable

from kernels.inline.sizes import PIXELS


@register_jitable
def sum_over_pixels(inputs, k, deltas, unit):
    total = float32(0)
    for pixel in range(0, PIXELS, 4):
        total += inputs[k, pixel] * deltas[unit, pixel]
    return total
