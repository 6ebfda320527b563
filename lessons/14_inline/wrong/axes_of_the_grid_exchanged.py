"""The first two axes of the grid are taken for x and y, in this order."""
# caught by: corners
# diagnosis: axes of the grid exchanged

from numba.extending import register_jitable

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    i, j = x // CELL, y // CELL
    u, v = place_in_cell(x), place_in_cell(y)
    s0, s1, s2, s3 = corner_weights(u, v)
    for n in range(CHANNELS):
        blended = s0 * grid[i, j, n] + s1 * grid[i + 1, j, n]
        blended += s2 * grid[i, j + 1, n] + s3 * grid[i + 1, j + 1, n]
        activations[0, n] = blended
    activations[0, CHANNELS] = u
    activations[0, CHANNELS + 1] = v
