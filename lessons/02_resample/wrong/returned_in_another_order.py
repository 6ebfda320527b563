"""The fraction is returned first."""
# caught by: between_pixels
# diagnosis: It returns (fraction, low, high)

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    low = int32(math.floor(position))
    fraction = position - float32(low)
    high = min(low + 1, size - 1)
    low = max(low, 0)
    return fraction, low, high
