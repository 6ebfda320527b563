"""The row of a gradient is used again for the loss while others still add it up."""
# caught by: weights
# diagnosis: the barrier belongs between the lines

from numba import cuda, float32

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, ROWS, UNITS


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    inputs = cuda.shared.array((ROWS, PITCH), float32)
    deltas = cuda.shared.array((UNITS, PITCH), float32)
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    gradient = cuda.local.array(UNITS, float32)

    x, y = cuda.grid(2)
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    height, width, _ = image.shape
    scale = float32(1) / (float32(height) * float32(width) * float32(COLOURS))

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
    deltas[0, thread] = squared_error
    cuda.syncthreads()
    if thread == 0:
        cuda.atomic.add(loss_sum, 0, scale * sum_over_pixels(inputs, UNITS, deltas, 0))
