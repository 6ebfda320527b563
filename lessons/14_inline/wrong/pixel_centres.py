"""The place in the cell is that of the pixel's centre."""
# caught by: corners
# diagnosis: pixel centres

from numba import float32
from numba.extending import register_jitable

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    column = x // CELL
    row = y // CELL
    x_place = (float32(x % CELL) + float32(0.5)) / float32(CELL)
    y_place = (float32(y % CELL) + float32(0.5)) / float32(CELL)
    w0, w1, w2, w3 = corner_weights(x_place, y_place)
    for channel in range(CHANNELS):
        activations[0, channel] = (
            w0 * grid[row, column, channel]
            + w1 * grid[row, column + 1, channel]
            + w2 * grid[row + 1, column, channel]
            + w3 * grid[row + 1, column + 1, channel]
        )
    activations[0, CHANNELS] = x_place
    activations[0, CHANNELS + 1] = y_place
