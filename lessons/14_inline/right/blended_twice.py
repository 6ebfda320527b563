"""First between the columns, then between the rows."""

from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    column = x // CELL
    row = y // CELL
    x_place = place_in_cell(x)
    y_place = place_in_cell(y)
    for channel in range(CHANNELS):
        top = grid[row, column, channel]
        top += x_place * (grid[row, column + 1, channel] - top)
        bottom = grid[row + 1, column, channel]
        bottom += x_place * (grid[row + 1, column + 1, channel] - bottom)
        activations[0, channel] = top + y_place * (bottom - top)
    activations[0, CHANNELS] = x_place
    activations[0, CHANNELS + 1] = y_place
