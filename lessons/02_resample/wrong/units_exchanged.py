"""Cells times cells, texels times texels."""
# caught by: overlap
# diagnosis: units exchanged

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    start = max(cell * cells, texel * texels)
    end = min((cell + 1) * cells, (texel + 1) * texels)
    return float32(end - start) / float32(cells)
