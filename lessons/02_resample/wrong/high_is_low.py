"""high is low itself."""
# caught by: between_pixels
# diagnosis: high is low itself

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    low = int32(math.floor(position))
    fraction = position - float32(low)
    low = max(low, 0)
    high = low
    return low, high, fraction
