"""The grid is taken for one of cells' centres, as in lesson 2; it stores corners."""
# caught by: corners
# diagnosis: centres of cells

from numba import float32
from numba.extending import register_jitable

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS


@register_jitable
def encode_pixel(grid, x, y, activations):
    # position in the grid, the centre of cell 0 is at 0
    across = (float32(x) + float32(0.5)) / float32(CELL) - float32(0.5)
    down = (float32(y) + float32(0.5)) / float32(CELL) - float32(0.5)
    left = max(int(across), 0)
    top = max(int(down), 0)
    fx = max(across - float32(left), float32(0))
    fy = max(down - float32(top), float32(0))
    w = corner_weights(fx, fy)
    for ch in range(CHANNELS):
        activations[0, ch] = (
            w[0] * grid[top, left, ch]
            + w[1] * grid[top, left + 1, ch]
            + w[2] * grid[top + 1, left, ch]
            + w[3] * grid[top + 1, left + 1, ch]
        )
    activations[0, CHANNELS] = fx
    activations[0, CHANNELS + 1] = fy
