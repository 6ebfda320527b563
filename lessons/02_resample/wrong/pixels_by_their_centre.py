"""A pixel counts 1 if its centre lies in the cell, and else 0."""
# caught by: overlap
# diagnosis: counts 1 if its centre lies in the cell

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    centre = (2 * texel + 1) * cells
    left = 2 * cell * texels
    right = 2 * (cell + 1) * texels
    if left <= centre and centre < right:
        return float32(1)
    return float32(0)
