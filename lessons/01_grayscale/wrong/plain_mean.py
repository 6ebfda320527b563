"""All three colours count the same: green comes out too dark, blue too bright."""
# caught by: luminance
# diagnosis: plain mean

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return (red + green + blue) / float32(3)
