"""The weights as constants of the file, the sum begun with one product."""

from numba import float32
from numba.extending import register_jitable


RED, GREEN, BLUE = float32(0.2126), float32(0.7152), float32(0.0722)


@register_jitable
def luminance(red, green, blue):
    total = RED * red
    total += GREEN * green
    total += BLUE * blue
    return total
