"""Forward, inline: each thread is a pixel, and runs the whole network by itself.

    grid (rows, columns, 14), weights (3, 17, 16)  ->  picture (H, W, 3)

The idea: the network is so small that one thread can hold all of a pixel's activations, 16 numbers
per layer, in registers. Nothing is exchanged, so no barrier is needed. All threads read the same
weight at the same time, which is one read for a whole warp.

The grid stores 14 numbers for each corner of a cell of 16 x 16 pixels. A pixel blends those of its
cell's four corners, and where in the cell it lies are features 14 and 15. Each of the three layers
is outputs = relu(inputs @ matrix + biases); row 16 of `weights[layer]` holds the biases. The first
three outputs of the last layer are red, green and blue; the other 13 are not computed.

Source: networks evaluated by each thread for itself, in the shaders of Slang's examples of neural
graphics (https://shader-slang.org) and in Mueller et al., "Instant Neural Graphics Primitives",
SIGGRAPH 2022.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights, relu
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, UNITS
from kernels.launch import blocks_for, on_gpu


@register_jitable
def place_in_cell(pixel):
    """How far a pixel lies from the first corner of its cell toward the next, in [0, 1): float32.

    pixel: its number along one axis. Cells begin at pixels 0, 16, 32, ...
    """
    return float32(pixel % CELL) / float32(CELL)


@register_jitable
def encode_pixel(grid, x, y, activations):
    """Write the 16 features of pixel (x, y) to activations[0].

    grid: (rows, columns, 14) float32; activations: (4, 16) float32, of this thread.
    """
    column = x // CELL
    row = y // CELL
    x_place = place_in_cell(x)
    y_place = place_in_cell(y)
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


@register_jitable
def forward_layer(activations, weights, layer, units):
    """Write the first `units` outputs of a layer to activations[layer + 1].

    activations: (4, 16) float32, of which row `layer` holds the inputs. weights: (3, 17, 16).
    """
    totals = cuda.local.array(UNITS, float32)
    for unit in range(units):
        totals[unit] = weights[layer, UNITS, unit]
    for k in range(UNITS):
        activation = activations[layer, k]
        for unit in range(units):
            totals[unit] += activation * weights[layer, k, unit]
    for unit in range(units):
        activations[layer + 1, unit] = relu(totals[unit])


@cuda.jit
def paint(grid, weights, picture):
    """Ask the network for every pixel; 16 x 16 threads per block.

    grid: see `grid_shape`; weights: (3, 17, 16); writes picture (H, W, 3): all float32.
    """
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    x, y = cuda.grid(2)
    if x >= picture.shape[1] or y >= picture.shape[0]:
        return

    encode_pixel(grid, x, y, activations)
    forward_layer(activations, weights, 0, UNITS)
    forward_layer(activations, weights, 1, UNITS)
    forward_layer(activations, weights, 2, COLOURS)
    for colour in range(COLOURS):
        picture[y, x, colour] = activations[3, colour]


def launch_paint(grid, weights, picture, launch=on_gpu):
    height, width, _ = picture.shape
    blocks = blocks_for(width, CELL), blocks_for(height, CELL)
    launch(paint, blocks, (CELL, CELL), grid, weights, picture)
