"""The squared errors are stored in the row of ones at once, which overwrite them."""
# caught by: weights
# diagnosis: are the squared errors overwritten by these

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, PITCH, PIXELS, ROWS, UNITS

# The last row of `inputs`: 16 rows are the inputs of a layer.
LOSS_ROW = ROWS - 1


@register_jitable
def run_network(grid, weights, x, y, activations):
    encode_pixel(grid, x, y, activations)
    forward_layer(activations, weights, 0, UNITS)
    forward_layer(activations, weights, 1, UNITS)
    forward_layer(activations, weights, 2, COLOURS)


@register_jitable
def is_inside(x, y, array):
    return x < array.shape[1] and y < array.shape[0]


@register_jitable
def my_pixel():
    return cuda.threadIdx.y * CELL + cuda.threadIdx.x


@register_jitable
def keep_shares(x, y, rows):
    pixel = my_pixel()
    shares = corner_weights(place_in_cell(x), place_in_cell(y))
    rows[0, pixel] = shares[0]
    rows[1, pixel] = shares[1]
    rows[2, pixel] = shares[2]
    rows[3, pixel] = shares[3]


@register_jitable
def keep_layer(activations, gradient, inputs, deltas, layer, units):
    pixel = my_pixel()
    for unit in range(units):
        delta = float32(0)
        if activations[layer + 1, unit] > float32(0):
            delta = gradient[unit]
        deltas[unit, pixel] = delta
    for k in range(UNITS):
        inputs[k, pixel] = activations[layer, k]
    inputs[ROWS - 1, pixel] = 1


@register_jitable
def add_weight_sums(inputs, deltas, grad_weights, layer, units):
    owner = my_pixel()
    while owner < ROWS * units:
        k, unit = owner // units, owner % units
        total = sum_over_pixels(inputs, k, deltas, unit)
        cuda.atomic.add(grad_weights, (layer, k, unit), total)
        owner += PIXELS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    keep_layer(activations, gradient, inputs, deltas, layer, units)
    cuda.syncthreads()
    add_weight_sums(inputs, deltas, grad_weights, layer, units)
    for k in range(UNITS):
        gradient[k] = 0
        for unit in range(units):
            gradient[k] += weights[layer, k, unit] * deltas[unit, my_pixel()]
    cuda.syncthreads()


@register_jitable
def errors_of_pixel(image, x, y, activations, gradient):
    """Write the gradient of three colours; return the sum of their squared errors."""
    scale = float32(2) / float32(COLOURS * image.shape[0] * image.shape[1])
    squares = float32(0)
    for colour in range(COLOURS):
        error = float32(0)
        if is_inside(x, y, image):
            error = activations[3, colour] - image[y, x, colour]
        gradient[colour] = scale * error
        squares += error * error
    return squares


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    inputs = cuda.shared.array((ROWS, PITCH), float32)
    deltas = cuda.shared.array((UNITS, PITCH), float32)
    activations = cuda.local.array((ACTIVATIONS, UNITS), float32)
    gradient = cuda.local.array(UNITS, float32)
    x, y = cuda.grid(2)

    run_network(grid, weights, x, y, activations)
    inputs[LOSS_ROW, my_pixel()] = errors_of_pixel(image, x, y, activations, gradient)

    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 2, COLOURS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 1, UNITS)
    backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, 0, UNITS)

    keep_shares(x, y, inputs)
    for channel in range(CHANNELS):
        deltas[channel, my_pixel()] = gradient[channel]
    deltas[CHANNELS, my_pixel()] = 1
    cuda.syncthreads()
    add_to_corners(inputs, deltas, grad_grid)
    if my_pixel() == 0:
        total = sum_over_pixels(inputs, LOSS_ROW, deltas, CHANNELS)
        cuda.atomic.add(loss_sum, 0, total / float32(COLOURS * image.shape[0] * image.shape[1]))
