"""A pixel belongs to the cell in which it begins, and counts as a whole one there."""
# caught by: overlap
# diagnosis: counts 1 if its beginning lies in the cell

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    return float32(1) if texel * cells // texels == cell else float32(0)
