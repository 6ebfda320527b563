"""The top right corner and the bottom left one have each other's share."""
# caught by: corners
# diagnosis: shares of x and y exchanged

from numba.extending import register_jitable

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    column = x // CELL
    row = y // CELL
    x_place = place_in_cell(x)
    y_place = place_in_cell(y)
    w0, w1, w2, w3 = corner_weights(x_place, y_place)
    for channel in range(CHANNELS):
        activations[0, channel] = (
            w0 * grid[row, column, channel]
            + w1 * grid[row + 1, column, channel]
            + w2 * grid[row, column + 1, channel]
            + w3 * grid[row + 1, column + 1, channel]
        )
    activations[0, CHANNELS] = x_place
    activations[0, CHANNELS + 1] = y_place
