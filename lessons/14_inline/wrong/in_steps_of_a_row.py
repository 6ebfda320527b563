"""Threads go on in steps of a row of the block: the next rows own these weights, too."""
# caught by: weights
# diagnosis: in steps of 16: there are 256

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, ROWS, UNITS


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
    for weight in range(thread, ROWS * units, CELL):
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
