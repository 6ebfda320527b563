"""luminance computes, and returns nothing."""
# caught by: luminance
# diagnosis: nothing returned

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    result = float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue
