"""The weights of an older standard (0.299, 0.587, 0.114)."""
# caught by: luminance
# diagnosis: wrong weights

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return float32(0.299) * red + float32(0.587) * green + float32(0.114) * blue
