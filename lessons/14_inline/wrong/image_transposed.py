"""The image is read at [x, y]."""
# caught by: weights
# diagnosis: image transposed

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        delta = float32(0.0)
        if activations[layer + 1, unit] > float32(0.0):
            delta = gradient[unit]
        deltas[unit, thread] = delta
    for k in range(UNITS):
        inputs[k, thread] = activations[layer, k]
    inputs[UNITS, thread] = float32(1.0)
    cuda.syncthreads()
    for weight in range(thread, ROWS * units, PIXELS):
        k = weight // units
        unit = weight % units
        total = sum_over_pixels(inputs, k, deltas, unit)
        cuda.atomic.add(grad_weights, (layer, k, unit), total)
    for k in range(UNITS):
        total = float32(0.0)
        for unit in range(units):
            total += weights[layer, k, unit] * deltas[unit, thread]
        gradient[k] = total
    cuda.syncthreads()


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    inputs = cuda.shared.array((ROWS, PITCH), float32)
    deltas = cuda.shared.array((UNITS, PITCH), float32)
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    gradient = cuda.local.array(UNITS, float32)

    x, y = cuda.grid(2)
    height, width, _ = image.shape
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    encode_pixel(grid, x, y, activations)
    forward_layer(activations, weights, 0, UNITS)
    forward_layer(activations, weights, 1, UNITS)
    forward_layer(activations, weights, 2, COLOURS)

    scale = float32(1.0) / (float32(height) * float32(width) * float32(COLOURS))
    loss = float32(0.0)
    for channel in range(COLOURS):
        error = float32(0.0)
        if x < width and y < height:
            error = activations[3, channel] - image[x, y, channel]
        gradient[channel] = float32(2.0) * scale * error
        loss += scale * error * error

    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 2, COLOURS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 1, UNITS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 0, UNITS)

    w0, w1, w2, w3 = corner_weights(place_in_cell(x), place_in_cell(y))
    inputs[0, thread] = w0
    inputs[1, thread] = w1
    inputs[2, thread] = w2
    inputs[3, thread] = w3
    inputs[4, thread] = float32(1.0)
    for channel in range(CHANNELS):
        deltas[channel, thread] = gradient[channel]
    deltas[CHANNELS, thread] = loss
    cuda.syncthreads()
    add_to_corners(inputs, deltas, grad_grid)
    if thread == CORNERS * CHANNELS:
        cuda.atomic.add(loss_sum, 0, sum_over_pixels(inputs, 4, deltas, CHANNELS))
