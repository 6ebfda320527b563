"""Lesson 14: inline. A network per pixel, and the whole picture in every step.

Write the nine functions marked "write me"; the story is in README.md beside this file.

    image (H, W, 3), grid (rows, columns, 14), weights (3, 17, 16)
        ->  grad_grid (rows, columns, 14), grad_weights (3, 17, 16), loss_sum (1,)    all added to

Check your work with `python -m lessons check 14`.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights, relu
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS
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
    raise NotImplementedError("write me")


@register_jitable
def forward_layer(activations, weights, layer, units):
    """Write the first `units` outputs of a layer to activations[layer + 1].

    activations: (4, 16) float32, of which row `layer` holds the inputs. weights: (3, 17, 16).
    """
    raise NotImplementedError("write me")


@cuda.jit
def paint(grid, weights, picture):
    """Ask the network for every pixel; 16 x 16 threads per block.

    grid: see `grid_shape`; weights: (3, 17, 16); writes picture (H, W, 3): all float32.
    """
    raise NotImplementedError("write me")


def launch_paint(grid, weights, picture, launch=on_gpu):
    height, width, _ = picture.shape
    blocks = blocks_for(width, CELL), blocks_for(height, CELL)
    launch(paint, blocks, (CELL, CELL), grid, weights, picture)


@cuda.jit
def scatter_direct(gradient, grad_grid):
    """Add each pixel's gradient to the corners of its cell: 56 atomic additions per pixel.

    gradient: (H, W, 14), grad_grid: see `grid_shape`; float32. One thread per pixel.
    """
    raise NotImplementedError("write me")


@register_jitable
def sum_over_pixels(inputs, k, deltas, unit):
    """Sum of inputs[k, pixel] * deltas[unit, pixel] over the block's 256 pixels: float32.

    Both arrays lie in shared memory, with at least PIXELS columns.
    """
    raise NotImplementedError("write me")


@register_jitable
def add_to_corners(shares, deltas, grad_grid):
    """Add up what a cell's pixels send to its corners: 56 atomic additions per block.

    shares: row c is how much of each pixel came from corner c; deltas: row c is the gradient of
    feature c of each pixel. Both in shared memory, and complete. grad_grid: see `grid_shape`.
    """
    raise NotImplementedError("write me")


@cuda.jit
def scatter_block(gradient, grad_grid):
    """The same as `scatter_direct`, with 56 atomic additions per block; a block is a cell."""
    raise NotImplementedError("write me")


def launch_scatter_direct(gradient, grad_grid, launch=on_gpu):
    launch_over_cells(scatter_direct, gradient, grad_grid, launch)


def launch_scatter_block(gradient, grad_grid, launch=on_gpu):
    launch_over_cells(scatter_block, gradient, grad_grid, launch)


def launch_over_cells(kernel, gradient, grad_grid, launch):
    height, width, _ = gradient.shape
    blocks = blocks_for(width, CELL), blocks_for(height, CELL)
    launch(kernel, blocks, (CELL, CELL), gradient, grad_grid)


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    """Take the block's pixels back through a layer, and add the gradients of its weights.

    activations (4, 16), gradient (16,): this thread's; `gradient` is that of the layer's first
    `units` outputs, and becomes that of its inputs. inputs (17, PITCH), deltas (16, PITCH): the
    block's, in shared memory; nobody may be using them. weights, grad_weights: (3, 17, 16).
    """
    raise NotImplementedError("write me")


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    """Add the gradients and the loss of a whole picture; a block of 16 x 16 threads is a cell.

    image: (H, W, 3). grid, grad_grid: see `grid_shape`. weights, grad_weights: (3, 17, 16).
    loss_sum: (1,), the mean squared error over pixels and colours is added. All float32.
    """
    raise NotImplementedError("write me")


def launch_learn(image, grid, weights, grad_grid, grad_weights, loss_sum, launch=on_gpu):
    height, width, _ = image.shape
    blocks = blocks_for(width, CELL), blocks_for(height, CELL)
    launch(
        learn, blocks, (CELL, CELL),
        image, grid, weights, grad_grid, grad_weights, loss_sum,
    )  # fmt: skip
