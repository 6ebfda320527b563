"""The weights are in the order blue, green, red."""
# caught by: luminance
# diagnosis: swapped channels

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return float32(0.0722) * red + float32(0.7152) * green + float32(0.2126) * blue
