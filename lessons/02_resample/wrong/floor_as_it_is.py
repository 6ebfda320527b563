"""low stays what math.floor returns, a number with a point."""
# caught by: upsample
# diagnosis: int32(math.floor(position))

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    low = math.floor(position)
    fraction = position - low
    high = min(low + 1, size - 1)
    low = max(low, 0)
    return low, high, fraction
