"""The layers are taken back in the order of the way forward."""
# caught by: weights
# diagnosis: back from the front

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.paint import encode_pixel, forward_layer, place_in_cell
from kernels.inline.scatter import add_to_corners, sum_over_pixels
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, CORNERS, PITCH, PIXELS, ROWS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    me = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        d = gradient[unit]
        if not activations[layer + 1, unit] > float32(0):
            d = float32(0)
        deltas[unit, me] = d
    for k in range(UNITS):
        inputs[k, me] = activations[layer, k]
    inputs[UNITS, me] = float32(1)
    cuda.syncthreads()
    for number in range(me, ROWS * units, PIXELS):
        k = number // units
        unit = number % units
        total = sum_over_pixels(inputs, k, deltas, unit)
        cuda.atomic.add(grad_weights, (layer, k, unit), total)
    for k in range(UNITS):
        total = float32(0)
        for unit in range(units):
            total += weights[layer, k, unit] * deltas[unit, me]
        gradient[k] = total
    cuda.syncthreads()


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    inputs = cuda.shared.array((ROWS, PITCH), float32)
    deltas = cuda.shared.array((UNITS, PITCH), float32)
    act = cuda.local.array((ACTIVATIONS, UNITS), float32)
    gradient = cuda.local.array(UNITS, float32)
    x, y = cuda.grid(2)
    height, width, _ = image.shape
    me = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    inside = x < width and y < height
    encode_pixel(grid, x, y, act)
    forward_layer(act, weights, 0, UNITS)
    forward_layer(act, weights, 1, UNITS)
    forward_layer(act, weights, 2, COLOURS)
    scale = float32(1) / float32(COLOURS * height * width)
    squared = float32(0)
    for c in range(COLOURS):
        error = float32(0)
        if inside:
            error = act[3, c] - image[y, x, c]
        squared += error * error
        gradient[c] = float32(2) * scale * error
    for c in range(COLOURS, UNITS):
        gradient[c] = float32(0)
    backward_layer(act, gradient, inputs, deltas, weights, grad_weights, 0, UNITS)
    backward_layer(act, gradient, inputs, deltas, weights, grad_weights, 1, UNITS)
    backward_layer(act, gradient, inputs, deltas, weights, grad_weights, 2, COLOURS)
    tl, tr, bl, br = corner_weights(place_in_cell(x), place_in_cell(y))
    inputs[0, me] = tl
    inputs[1, me] = tr
    inputs[2, me] = bl
    inputs[3, me] = br
    inputs[4, me] = float32(1)
    for c in range(CHANNELS):
        deltas[c, me] = gradient[c]
    deltas[CHANNELS, me] = squared * scale
    cuda.syncthreads()
    add_to_corners(inputs, deltas, grad_grid)
    if me == PIXELS - 1:
        cuda.atomic.add(loss_sum, 0, sum_over_pixels(inputs, 4, deltas, CHANNELS))
