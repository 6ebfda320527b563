"""The first corner of the cell decides alone."""
# caught by: corners
# diagnosis: first corner

from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    column = x // CELL
    row = y // CELL
    x_place = place_in_cell(x)
    y_place = place_in_cell(y)
    for channel in range(CHANNELS):
        activations[0, channel] = grid[row, column, channel]
    activations[0, CHANNELS] = x_place
    activations[0, CHANNELS + 1] = y_place
