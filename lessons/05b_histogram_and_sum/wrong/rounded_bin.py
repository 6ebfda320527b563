"""The bin is rounded to the nearest number instead of down."""
# caught by: bin_of
# diagnosis: rounded

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    return min(int32(math.floor(brightness * float32(bins) + float32(0.5))), int32(bins - 1))
