"""overlap divides by texels."""
# caught by: overlap
# diagnosis: divided by texels

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    begin = max(cell * texels, texel * cells)
    end = min((cell + 1) * texels, (texel + 1) * cells)
    return float32(end - begin) / float32(texels)
