"""low is the texel that the point lies in, and the fraction is counted from its centre."""
# caught by: between_pixels
# diagnosis: the nearest centre

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    # which pixel am I in?
    position = coordinate * float32(size)
    low = int32(math.floor(position))
    high = low + int32(1)
    # how far from its centre?
    fraction = position - float32(low) - float32(0.5)
    # clamp
    if low < 0:
        low = int32(0)
    if high > size - 1:
        high = int32(size - 1)
    return low, high, fraction
