"""A pixel's place is how far the next corner is, not the first one."""
# caught by: corners
# diagnosis: place counted back along x and y

from numba import float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL


@register_jitable
def place_in_cell(pixel):
    return float32(CELL - pixel % CELL) / float32(CELL)
