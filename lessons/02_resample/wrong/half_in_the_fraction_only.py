"""low and high are found without the half pixel, and only the fraction with it."""
# caught by: between_pixels
# diagnosis: of two positions

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    low = int32(math.floor(coordinate * float32(size)))
    position = coordinate * float32(size) - float32(0.5)
    fraction = position - float32(int32(math.floor(position)))
    return max(low, int32(0)), min(low + int32(1), int32(size - 1)), fraction
