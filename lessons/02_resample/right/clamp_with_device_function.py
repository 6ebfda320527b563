"""A device function of one's own that clamps."""

import math
from numba import cuda, float32, int32
from numba.extending import register_jitable


@register_jitable
def clamp(value, low, high):
    return max(low, min(value, high))


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    floor = math.floor(position)
    return (
        clamp(int32(floor), 0, size - 1),
        clamp(int32(floor) + 1, 0, size - 1),
        float32(position - float32(floor)),
    )
