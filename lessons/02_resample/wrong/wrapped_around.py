"""Beyond an edge the pixel of the opposite edge is taken: % wraps around."""
# caught by: between_pixels
# diagnosis: beyond an edge wrapped around

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    floor = int32(math.floor(position))
    return int32(floor % size), int32((floor + 1) % size), position - float32(floor)
