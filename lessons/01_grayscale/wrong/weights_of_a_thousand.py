"""Rounded colours of a picture file, with weights of a thousandth each."""
# caught by: luminance
# diagnosis: rounded to 213, 715 and 72 of 1000

from numba import float32, int32
from numba.extending import register_jitable


@register_jitable
def in_bytes(colour):
    return int32(colour * float32(255) + float32(0.5))


@register_jitable
def luminance(red, green, blue):
    total = 213 * in_bytes(red) + 715 * in_bytes(green) + 72 * in_bytes(blue)
    return float32(total // 1000) / float32(255)
