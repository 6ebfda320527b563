"""Only the upper neighbour is clamped."""
# caught by: between_pixels
# diagnosis: max(low, 0)

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    floor = int32(math.floor(position))
    fraction = position - float32(floor)
    return floor, min(floor + int32(1), int32(size - 1)), fraction
