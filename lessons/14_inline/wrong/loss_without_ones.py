"""The squared errors are summed with a row of deltas that layer 0 has left, and not with ones."""
# caught by: weights
# diagnosis: loss with delta 14

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.sizes import ACTIVATIONS, CELL, CHANNELS, PITCH, PIXELS, ROWS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    me = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for k in range(UNITS):
        inputs[k, me] = activations[layer, k]
    inputs[UNITS, me] = float32(1)
    for unit in range(units):
        if activations[layer + 1, unit] > float32(0):
            deltas[unit, me] = gradient[unit]
        else:
            deltas[unit, me] = float32(0)
    cuda.syncthreads()
    for own in range(me, ROWS * units, PIXELS):
        k = own // units
        unit = own % units
        s = sum_over_pixels(inputs, k, deltas, unit)
        cuda.atomic.add(grad_weights, (layer, k, unit), s)
    for k in range(UNITS):
        total = float32(0)
        for unit in range(units):
            total += weights[layer, k, unit] * deltas[unit, me]
        gradient[k] = total
    cuda.syncthreads()


@cuda.jit
def learn(image, grid, weights, grad_grid, grad_weights, loss_sum):
    state = cuda.local.array((ACTIVATIONS, UNITS), float32)
    grads = cuda.local.array(UNITS, float32)
    first = cuda.shared.array((ROWS, PITCH), float32)
    second = cuda.shared.array((UNITS, PITCH), float32)
    x, y = cuda.grid(2)
    rank = cuda.threadIdx.x + CELL * cuda.threadIdx.y
    rows, columns, _ = image.shape
    encode_pixel(grid, x, y, state)
    forward_layer(state, weights, 0, UNITS)
    forward_layer(state, weights, 1, UNITS)
    forward_layer(state, weights, 2, COLOURS)
    norm = float32(rows * columns * COLOURS)
    squared = float32(0)
    for colour in range(COLOURS):
        if x < columns and y < rows:
            difference = state[3, colour] - image[y, x, colour]
            squared += difference * difference
            grads[colour] = float32(2) / norm * difference
        else:
            grads[colour] = float32(0)
    backward_layer(state, grads, first, second, weights, grad_weights, 2, COLOURS)
    backward_layer(state, grads, first, second, weights, grad_weights, 1, UNITS)
    backward_layer(state, grads, first, second, weights, grad_weights, 0, UNITS)
    tl, tr, bl, br = corner_weights(place_in_cell(x), place_in_cell(y))
    first[0, rank] = tl
    first[1, rank] = tr
    first[2, rank] = bl
    first[3, rank] = br
    first[4, rank] = squared / norm
    for ch in range(CHANNELS):
        second[ch, rank] = grads[ch]
    cuda.syncthreads()
    add_to_corners(first, second, grad_grid)
    if rank == 0:
        cuda.atomic.add(loss_sum, 0, sum_over_pixels(first, 4, second, CHANNELS))
