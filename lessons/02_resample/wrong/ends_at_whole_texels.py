"""The cell is made to begin and end at whole texels before the overlap is taken."""
# caught by: overlap
# diagnosis: ends at whole texels

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    left = max(cell * texels // cells, texel)
    right = min((cell + 1) * texels // cells, texel + 1)
    return float32(right - left)
