"""The lower row is added to the whole upper one: the shares make more than one."""
# caught by: corners
# diagnosis: not taken away along y

from numba.extending import register_jitable

from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    column = x // CELL
    row = y // CELL
    x_place = place_in_cell(x)
    y_place = place_in_cell(y)
    for channel in range(CHANNELS):
        left = grid[row, column, channel]
        right = grid[row, column + 1, channel]
        upper = left + x_place * (right - left)
        left = grid[row + 1, column, channel]
        right = grid[row + 1, column + 1, channel]
        lower = left + x_place * (right - left)
        activations[0, channel] = upper + y_place * lower
    activations[0, CHANNELS] = x_place
    activations[0, CHANNELS + 1] = y_place
