"""Brightness is rounded to one of 256 levels."""
# caught by: luminance
# diagnosis: rounded

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    level = float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue
    return float32(int(level * float32(255))) / float32(255)
