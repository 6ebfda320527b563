"""At an edge both neighbours are pushed into the picture; the fraction is counted from there."""
# caught by: between_pixels
# diagnosis: pair pushed inside

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    low = int32(math.floor(position))
    if low > size - 2:
        low = int32(size - 2)
    if low < 0:
        low = int32(0)
    high = int32(min(low + 1, size - 1))
    return low, high, position - float32(low)
