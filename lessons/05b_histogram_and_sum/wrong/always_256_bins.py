"""The number of bins is written into the function."""
# caught by: bin_of
# diagnosis: 256 bins

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    return min(int32(brightness * float32(256)), int32(255))
