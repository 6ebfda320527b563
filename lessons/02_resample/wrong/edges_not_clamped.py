"""At the edges of the picture the neighbours lie outside of it."""
# caught by: between_pixels
# diagnosis: edges not clamped

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    floor = int32(math.floor(position))
    fraction = position - float32(floor)
    return floor, floor + int32(1), fraction
