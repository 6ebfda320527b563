"""The floor of a number above -1, without math.floor."""

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) + float32(0.5)
    whole = int32(position)
    fraction = position - float32(whole)
    low = whole - 1
    if low < 0:
        low = 0
    high = whole
    if high > size - 1:
        high = size - 1
    return low, high, fraction
