"""The fraction is taken from the clamped index."""
# caught by: between_pixels
# diagnosis: not the floor

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    low = max(int32(math.floor(position)), int32(0))
    high = min(low + int32(1), int32(size - 1))
    return low, high, position - float32(low)
