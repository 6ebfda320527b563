"""The mask is applied to what leaves a layer, before the next one takes it."""

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        deltas[unit, thread] = gradient[unit]
    for k in range(UNITS):
        inputs[k, thread] = activations[layer, k]
    cuda.syncthreads()

    for weight in range(thread, ROWS * units, PIXELS):
        k = weight // units
        unit = weight % units
        total = sum_over_pixels(inputs, k, deltas, unit)
        cuda.atomic.add(grad_weights, (layer, k, unit), total)

    for k in range(UNITS):
        total = float32(0)
        for unit in range(units):
            total += weights[layer, k, unit] * deltas[unit, thread]
        passed = layer == 0 or activations[layer, k] > float32(0)
        gradient[k] = total if passed else float32(0)
    cuda.syncthreads()


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
        passed = activations[3, colour] > float32(0)
        gradient[colour] = float32(2) * scale * error if passed else float32(0)
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
    deltas[CHANNELS, thread] = squared_error
    cuda.syncthreads()
    add_to_corners(inputs, deltas, grad_grid)
    if thread == CORNERS * CHANNELS:
        total = sum_over_pixels(inputs, UNITS, deltas, CHANNELS)
        cuda.atomic.add(loss_sum, 0, scale * total)
