"""Half is subtracted before the multiplication."""
# caught by: between_pixels
# diagnosis: (coordinate - 0.5) * size

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = (coordinate - float32(0.5)) * float32(size)
    low = int32(math.floor(position))
    fraction = position - float32(low)
    high = min(low + 1, size - 1)
    low = max(low, 0)
    return low, high, fraction
