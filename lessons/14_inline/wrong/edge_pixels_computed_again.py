"""A thread beyond the picture computes the pixel at the edge, and adds its error again."""
# caught by: weights
# diagnosis: edge pixels computed again

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.scatter import sum_over_pixels
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    pixel = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        delta = gradient[unit]
        if activations[layer + 1, unit] <= float32(0):
            delta = float32(0)
        deltas[unit, pixel] = delta
    for k in range(UNITS):
        inputs[k, pixel] = activations[layer, k]
    inputs[UNITS, pixel] = float32(1)
    cuda.syncthreads()
    for job in range(pixel, ROWS * units, PIXELS):
        k = job // units
        unit = job % units
        total = sum_over_pixels(inputs, k, deltas, unit)
        cuda.atomic.add(grad_weights, (layer, k, unit), total)
    for k in range(UNITS):
        back = float32(0)
        for unit in range(units):
            back += weights[layer, k, unit] * deltas[unit, pixel]
        gradient[k] = back
    cuda.syncthreads()


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    inputs = cuda.shared.array((ROWS, PITCH), float32)
    deltas = cuda.shared.array((UNITS, PITCH), float32)
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    gradient = cuda.local.array(UNITS, float32)
    height, width = image.shape[0], image.shape[1]
    x, y = cuda.grid(2)
    x = min(x, width - 1)
    y = min(y, height - 1)
    pixel = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    numbers = float32(COLOURS * height * width)

    encode_pixel(grid, x, y, activations)
    forward_layer(activations, weights, 0, UNITS)
    forward_layer(activations, weights, 1, UNITS)
    forward_layer(activations, weights, 2, COLOURS)

    loss = float32(0)
    for colour in range(COLOURS):
        error = activations[3, colour] - image[y, x, colour]
        loss += error * error / numbers
        gradient[colour] = float32(2) * error / numbers

    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 2, COLOURS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 1, UNITS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 0, UNITS)

    shares = corner_weights(place_in_cell(x), place_in_cell(y))
    for corner in range(CORNERS):
        inputs[corner, pixel] = shares[corner]
    inputs[4, pixel] = loss
    for channel in range(CHANNELS):
        deltas[channel, pixel] = gradient[channel]
    deltas[CHANNELS, pixel] = float32(1)
    cuda.syncthreads()
    add_to_corners(inputs, deltas, grad_grid)
    if pixel == 100:
        cuda.atomic.add(loss_sum, 0, sum_over_pixels(inputs, 4, deltas, CHANNELS))
