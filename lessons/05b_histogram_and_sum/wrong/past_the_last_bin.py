"""White, a brightness of 1, gets a bin of its own beyond the last."""
# caught by: bin_of
# diagnosis: bin past the last

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    return int32(brightness * float32(bins))
