"""Brightness from 0 to 255, as in a file; our pictures go from 0 to 1."""
# caught by: luminance
# diagnosis: 0-255

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    brightness = float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue
    return float32(255) * brightness
