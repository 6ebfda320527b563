"""The bin by floor, and white by an if."""

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    chosen = int32(math.floor(brightness * float32(bins)))
    if chosen >= bins:
        chosen = bins - 1
    return chosen
