"""Brightness in bytes and fixed point, as for a picture of 8 bits per channel."""
# caught by: luminance
# diagnosis: are made whole numbers up to 255

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    r = int32(red * float32(255))
    g = int32(green * float32(255))
    b = int32(blue * float32(255))
    y = (54 * r + 183 * g + 19 * b) >> 8
    return float32(y) / float32(255)
