"""bin_of rounds up and takes one away: black is in bin -1."""
# caught by: bin_of
# diagnosis: border in the lower bin

import math

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def bin_of(brightness, bins):
    return int32(math.ceil(brightness * float32(bins))) - int32(1)
