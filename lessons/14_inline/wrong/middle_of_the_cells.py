"""The grid's numbers are taken to lie in the middle of the cells; the fraction is not held."""
# caught by: corners
# diagnosis: as if its numbers lay at the centres of cells

import math

from numba import float32, int32
from numba.extending import register_jitable

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def corner_and_place(pixel):
    position = (float32(pixel) + float32(0.5)) / float32(CELL) - float32(0.5)
    low = int32(math.floor(position))
    return max(low, 0), position - float32(low)


@register_jitable
def encode_pixel(grid, x, y, activations):
    left, fx = corner_and_place(x)
    top, fy = corner_and_place(y)
    w00, w01, w10, w11 = corner_weights(fx, fy)
    for c in range(CHANNELS):
        above = w00 * grid[top, left, c] + w01 * grid[top, left + 1, c]
        below = w10 * grid[top + 1, left, c] + w11 * grid[top + 1, left + 1, c]
        activations[0, c] = above + below
    activations[0, CHANNELS] = fx
    activations[0, CHANNELS + 1] = fy
