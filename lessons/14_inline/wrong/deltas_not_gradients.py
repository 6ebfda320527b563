"""The deltas of layer 0 go to the corners: the gradients of the features are never stored."""
# caught by: grid
# diagnosis: deltas, not gradients

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.field_math import corner_weights
from kernels.inline.paint import encode_pixel, forward_layer
from kernels.inline.scatter import sum_over_pixels
from kernels.inline.sizes import ACTIVATIONS, CELL, CORNERS, PITCH, PIXELS, ROWS, UNITS


@register_jitable
def ask(grid, weights, x, y, acts):
    encode_pixel(grid, x, y, acts)
    forward_layer(acts, weights, 0, UNITS)
    forward_layer(acts, weights, 1, UNITS)
    forward_layer(acts, weights, 2, COLOURS)


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
    known = cuda.shared.array((ROWS, PITCH), float32)
    slope = cuda.shared.array((UNITS, PITCH), float32)
    acts = cuda.local.array((ACTIVATIONS, UNITS), float32)
    grad = cuda.local.array(UNITS, float32)

    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * CELL + tx
    y = cuda.blockIdx.y * CELL + ty
    me = tx + CELL * ty
    rows, columns = image.shape[0], image.shape[1]
    share = float32(1) / float32(COLOURS * rows * columns)

    ask(grid, weights, x, y, acts)

    mine = float32(0)
    for c in range(COLOURS):
        grad[c] = float32(0)
    if x < columns and y < rows:
        for c in range(COLOURS):
            off = acts[3, c] - image[y, x, c]
            mine += off * off * share
            grad[c] = float32(2) * off * share

    backward_layer(acts, grad, known, slope, weights, grad_weights, 2, COLOURS)
    backward_layer(acts, grad, known, slope, weights, grad_weights, 1, UNITS)
    backward_layer(acts, grad, known, slope, weights, grad_weights, 0, UNITS)

    w = corner_weights(place_in_cell(x), place_in_cell(y))
    for corner in range(CORNERS):
        known[corner, me] = w[corner]
    known[5, me] = mine
    slope[15, me] = float32(1)
    cuda.syncthreads()
    add_to_corners(known, slope, grad_grid)
    if tx == 15 and ty == 15:
        cuda.atomic.add(loss_sum, 0, sum_over_pixels(known, 5, slope, 15))
