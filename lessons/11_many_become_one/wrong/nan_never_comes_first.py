"""Nothing is said of NaN, which no comparison finds."""
# caught by: argmax
# diagnosis: NaN

import math

from numba.extending import register_jitable


@register_jitable
def comes_first(value, index, other, other_index):
    if value == other:
        return index < other_index
    return value > other
