"""The root of the weighted squares, as in another model of brightness."""
# caught by: luminance
# diagnosis: root of squares

import math

from numba import float32
from numba.extending import register_jitable


@register_jitable
def luminance(red, green, blue):
    return math.sqrt(
        float32(0.2126) * red * red
        + float32(0.7152) * green * green
        + float32(0.0722) * blue * blue
    )
