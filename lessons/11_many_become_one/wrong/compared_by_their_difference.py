"""Two values are compared by their difference, which is NaN for two equal infinities."""
# caught by: argmax
# diagnosis: equal infinities

from numba import float32
from numba.extending import register_jitable


@register_jitable
def comes_first(value, index, other, other_index):
    if value != value or other != other:
        if value != value and other != other:
            return index < other_index
        return value != value
    difference = value - other
    if difference != float32(0):
        return difference > float32(0)
    return index < other_index
