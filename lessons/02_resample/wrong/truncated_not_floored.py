"""int() cuts toward zero: left of the first centre, -0.3 becomes 0, not -1."""
# caught by: between_pixels
# diagnosis: not the floor

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def neighbours(coordinate, size):
    position = coordinate * float32(size) - float32(0.5)
    floor = int32(position)
    fraction = position - float32(floor)
    return max(floor, int32(0)), min(floor + int32(1), int32(size - 1)), fraction
