"""Only the lower neighbour is clamped."""
# caught by: between_pixels
# diagnosis: high not clamped

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    floor = int32(math.floor(position))
    fraction = position - float32(floor)
    return max(floor, int32(0)), floor + int32(1), fraction
