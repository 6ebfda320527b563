"""The product with a whole number is a double."""
# caught by: float32
# diagnosis: slow

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    return min(int32(brightness * bins), int32(bins - 1))
