"""Gradients of the grid: what a cell's pixels send back to its four corners.

    gradient (H, W, 14)  ->  grad_grid (rows, columns, 14)     added to

The idea: a pixel's features were blended from four corners, so its gradient goes back to the four,
with the same weights. Each pixel could add its 4 x 14 numbers to global memory: 14,680,064 atomic
additions for 512 x 512 pixels, hundreds of which want the same address. But a block of 16 x 16
threads is exactly one cell, and all of its pixels have the same four corners. So the block puts its
gradients into shared memory, and 56 of its threads sum up, each one number of one corner, over 256
pixels. Then each makes one atomic addition: 57,344 in all.

Source: privatised sums, as in Podlozhnyuk, "Histogram calculation in CUDA", NVIDIA, 2007; sums of
products over a tile as in the backward pass of the fused network, `kernels/backward.py`.
"""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.field_math import corner_weights
from kernels.inline.paint import place_in_cell
from kernels.inline.sizes import CELL, CHANNELS, CORNERS, PITCH, PIXELS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def scatter_direct(gradient, grad_grid):
    """Add each pixel's gradient to the corners of its cell: 56 atomic additions per pixel.

    gradient: (H, W, 14), grad_grid: see `grid_shape`; float32. One thread per pixel.
    """
    x, y = cuda.grid(2)
    if x >= gradient.shape[1] or y >= gradient.shape[0]:
        return

    column = x // CELL
    row = y // CELL
    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    for channel in range(CHANNELS):
        value = gradient[y, x, channel]
        cuda.atomic.add(grad_grid, (row, column, channel), w0 * value)
        cuda.atomic.add(grad_grid, (row, column + 1, channel), w1 * value)
        cuda.atomic.add(grad_grid, (row + 1, column, channel), w2 * value)
        cuda.atomic.add(grad_grid, (row + 1, column + 1, channel), w3 * value)


@register_jitable
def sum_over_pixels(inputs, k, deltas, unit):
    """Sum of inputs[k, pixel] * deltas[unit, pixel] over the block's 256 pixels: float32.

    Both arrays lie in shared memory, with at least PIXELS columns.
    """
    # Four sums that need not wait for each other; and short sums lose fewer digits than a long one.
    total_0 = float32(0)
    total_1 = float32(0)
    total_2 = float32(0)
    total_3 = float32(0)
    for pixel in range(0, PIXELS, 4):
        total_0 += inputs[k, pixel] * deltas[unit, pixel]
        total_1 += inputs[k, pixel + 1] * deltas[unit, pixel + 1]
        total_2 += inputs[k, pixel + 2] * deltas[unit, pixel + 2]
        total_3 += inputs[k, pixel + 3] * deltas[unit, pixel + 3]
    return (total_0 + total_1) + (total_2 + total_3)


@register_jitable
def add_to_corners(shares, deltas, grad_grid):
    """Add up what a cell's pixels send to its corners: 56 atomic additions per block.

    shares: row c is how much of each pixel came from corner c; deltas: row c is the gradient of
    feature c of each pixel. Both in shared memory, and complete. grad_grid: see `grid_shape`.
    """
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    if thread < CORNERS * CHANNELS:
        corner = thread // CHANNELS
        channel = thread % CHANNELS
        row = cuda.blockIdx.y + corner // 2
        column = cuda.blockIdx.x + corner % 2
        total = sum_over_pixels(shares, corner, deltas, channel)
        cuda.atomic.add(grad_grid, (row, column, channel), total)


@cuda.jit
def scatter_block(gradient, grad_grid):
    """The same as `scatter_direct`, with 56 atomic additions per block; a block is a cell."""
    shares = cuda.shared.array((CORNERS, PITCH), float32)
    deltas = cuda.shared.array((CHANNELS, PITCH), float32)
    x, y = cuda.grid(2)
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    inside = x < gradient.shape[1] and y < gradient.shape[0]

    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    shares[0, thread] = w0
    shares[1, thread] = w1
    shares[2, thread] = w2
    shares[3, thread] = w3
    # A pixel beyond the picture takes part in the sums, with zeros.
    for channel in range(CHANNELS):
        deltas[channel, thread] = gradient[y, x, channel] if inside else float32(0)
    # All pixels must be there before anyone sums over them.
    cuda.syncthreads()
    add_to_corners(shares, deltas, grad_grid)


def launch_scatter_direct(gradient, grad_grid, launch=on_gpu):
    launch_over_cells(scatter_direct, gradient, grad_grid, launch)


def launch_scatter_block(gradient, grad_grid, launch=on_gpu):
    launch_over_cells(scatter_block, gradient, grad_grid, launch)


def launch_over_cells(kernel, gradient, grad_grid, launch):
    height, width, _ = gradient.shape
    blocks = blocks_for(width, CELL), blocks_for(height, CELL)
    launch(kernel, blocks, (CELL, CELL), gradient, grad_grid)
