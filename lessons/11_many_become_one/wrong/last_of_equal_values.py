"""Of equal values, the one with the higher index comes first."""
# caught by: argmax
# diagnosis: equal values

import math

from numba.extending import register_jitable


@register_jitable
def comes_first(value, index, other, other_index):
    if math.isnan(value) != math.isnan(other):
        return math.isnan(value)
    if value == other or math.isnan(value):
        return index > other_index
    return value > other
