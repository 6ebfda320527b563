"""Of equal values, neither comes first."""
# caught by: argmax
# diagnosis: equal values

import math

from numba.extending import register_jitable


@register_jitable
def comes_first(value, index, other, other_index):
    if math.isnan(value) != math.isnan(other):
        return math.isnan(value)
    return value > other
