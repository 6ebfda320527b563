"""The bin by ceil: a brightness on the border of two bins goes to the lower one."""
# caught by: bin_of
# diagnosis: border in the lower bin

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    place = int32(math.ceil(brightness * float32(bins))) - 1
    return max(place, int32(0))
