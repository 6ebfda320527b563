"""Each pixel adds to global memory by itself: right, and slow."""
# points: 7

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.field_math import corner_weights
from kernels.inline.sizes import CELL, CHANNELS, ROWS, UNITS


@cuda.jit
def scatter_block(gradient, grad_grid):
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
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        passed = activations[layer + 1, unit] > float32(0)
        deltas[unit, thread] = gradient[unit] if passed else float32(0)
    for k in range(UNITS):
        inputs[k, thread] = activations[layer, k]
    cuda.syncthreads()

    for k in range(ROWS):
        for unit in range(units):
            product = inputs[k, thread] * deltas[unit, thread]
            cuda.atomic.add(grad_weights, (layer, k, unit), product)

    for k in range(UNITS):
        total = float32(0)
        for unit in range(units):
            total += weights[layer, k, unit] * deltas[unit, thread]
        gradient[k] = total
    cuda.syncthreads()
