"""overlap divides whole numbers with //."""
# caught by: overlap
# diagnosis: whole division

from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    begin = max(cell * texels, texel * cells)
    end = min((cell + 1) * texels, (texel + 1) * cells)
    return (end - begin) // cells
