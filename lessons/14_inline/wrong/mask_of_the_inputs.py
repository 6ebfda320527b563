"""The mask is that of the layer below."""
# caught by: weights
# diagnosis: mask of the inputs

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, PIXELS, ROWS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    thread = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        passed = activations[layer, unit] > float32(0)
        deltas[unit, thread] = gradient[unit] if passed else float32(0)
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
        gradient[k] = total
    cuda.syncthreads()
