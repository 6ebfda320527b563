"""Brightness is multiplied by bins - 1: only white gets into the last bin."""
# caught by: bin_of
# diagnosis: bins - 1

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    return int32(brightness * float32(bins - 1))
