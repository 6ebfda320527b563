"""Only 32 pixels of the block are summed."""
# caught by: scatter
# diagnosis: first warp only

from numba import float32
from numba.extending import register_jitable


@register_jitable
def sum_over_pixels(inputs, k, deltas, unit):
    total_0 = float32(0)
    total_1 = float32(0)
    total_2 = float32(0)
    total_3 = float32(0)
    for pixel in range(0, 32, 4):
        total_0 += inputs[k, pixel] * deltas[unit, pixel]
        total_1 += inputs[k, pixel + 1] * deltas[unit, pixel + 1]
        total_2 += inputs[k, pixel + 2] * deltas[unit, pixel + 2]
        total_3 += inputs[k, pixel + 3] * deltas[unit, pixel + 3]
    return (total_0 + total_1) + (total_2 + total_3)
