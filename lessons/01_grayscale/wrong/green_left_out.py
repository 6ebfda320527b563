"""Green is left out."""
# caught by: luminance
# diagnosis: wrong weights

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return float32(0.2126) * red + float32(0.0722) * blue
