"""The four corners of a cell are averaged, wherever in it the pixel lies."""
# caught by: corners
# diagnosis: corners averaged

from numba import float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    column, row = x // CELL, y // CELL
    for channel in range(CHANNELS):
        total = float32(0)
        for below in range(2):
            for right in range(2):
                total += grid[row + below, column + right, channel]
        activations[0, channel] = total / float32(4)
    activations[0, CHANNELS] = place_in_cell(x)
    activations[0, CHANNELS + 1] = place_in_cell(y)
