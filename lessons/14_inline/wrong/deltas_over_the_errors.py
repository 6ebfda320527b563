"""The squared errors lie in a row of deltas that the way back overwrites."""
# caught by: weights
# diagnosis: The loss is a sum of deltas of layer 0

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.paint import encode_pixel, forward_layer, place_in_cell
from kernels.inline.scatter import add_to_corners, sum_over_pixels
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    """Add the gradients and the loss of a whole picture; a block of 16 x 16 threads is a cell.

    image: (H, W, 3). grid, grad_grid: see `grid_shape`. weights, grad_weights: (3, 17, 16).
    loss_sum: (1,), the mean squared error over pixels and colours is added. All float32.
    """
    inputs = cuda.shared.array((ROWS, PITCH), float32)
    deltas = cuda.shared.array((UNITS, PITCH), float32)
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    gradient = cuda.local.array(UNITS, float32)

    x, y = cuda.grid(2)
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    height, width, _ = image.shape
    scale = float32(1) / (float32(height) * float32(width) * float32(COLOURS))

    # No thread leaves early: one beyond the picture has a corner to read, too, but no error.
    encode_pixel(grid, x, y, activations)
    forward_layer(activations, weights, 0, UNITS)
    forward_layer(activations, weights, 1, UNITS)
    forward_layer(activations, weights, 2, COLOURS)

    squared_error = float32(0)
    inside = x < width and y < height
    for colour in range(COLOURS):
        error = activations[3, colour] - image[y, x, colour] if inside else float32(0)
        squared_error += error * error
        gradient[colour] = float32(2) * scale * error
    # 16 units, but only 14 channels: this row is free.
    deltas[CHANNELS, thread] = squared_error
    inputs[UNITS, thread] = float32(1)

    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 2, COLOURS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 1, UNITS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 0, UNITS)

    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    inputs[0, thread] = w0
    inputs[1, thread] = w1
    inputs[2, thread] = w2
    inputs[3, thread] = w3
    for channel in range(CHANNELS):
        deltas[channel, thread] = gradient[channel]
    cuda.syncthreads()
    add_to_corners(inputs, deltas, grad_grid)
    if thread == CORNERS * CHANNELS:
        total = sum_over_pixels(inputs, UNITS, deltas, CHANNELS)
        cuda.atomic.add(loss_sum, 0, scale * total)
