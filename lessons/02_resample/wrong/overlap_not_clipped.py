"""overlap takes the outer ends instead of the inner ones."""
# caught by: overlap
# diagnosis: outer ends

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    begin = min(cell * texels, texel * cells)
    end = max((cell + 1) * texels, (texel + 1) * cells)
    return float32(end - begin) / float32(cells)
