"""Values count as equal where their difference is zero: that of two infinities is NaN."""
# caught by: argmax
# diagnosis: equal infinities

import math

from numba.extending import register_jitable


@register_jitable
def comes_first(value, index, other, other_index):
    if math.isnan(value):
        return not math.isnan(other) or index < other_index
    if value > other:
        return True
    return abs(value - other) == 0 and index < other_index
