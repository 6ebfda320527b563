"""high is one more than low after clamping."""
# caught by: between_pixels
# diagnosis: one more than the clamped low

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    low = int32(math.floor(position))
    fraction = position - float32(low)
    low = max(low, 0)
    high = min(low + 1, size - 1)
    return low, high, fraction
