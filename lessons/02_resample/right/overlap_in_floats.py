"""The overlap in float32 numbers."""

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    size = float32(texels) / float32(cells)
    begin = max(float32(cell) * size, float32(texel))
    end = min(float32(cell + 1) * size, float32(texel + 1))
    return max(end - begin, float32(0))
