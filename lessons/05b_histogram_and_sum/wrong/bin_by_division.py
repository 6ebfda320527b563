"""brightness is divided by the number of bins."""
# caught by: bin_of
# diagnosis: divided

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    return min(int32(brightness / float32(bins)), int32(bins - 1))
