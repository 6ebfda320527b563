"""The gradient of an input begins where that of the input before has ended."""
# caught by: weights
# diagnosis: gradient of the inputs goes on

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, PIXELS, ROWS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    me = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for k in range(UNITS):
        inputs[k, me] = activations[layer, k]
    inputs[UNITS, me] = float32(1)
    for unit in range(units):
        deltas[unit, me] = gradient[unit] if activations[layer + 1, unit] > 0 else float32(0)
    cuda.syncthreads()
    for own in range(me, ROWS * units, PIXELS):
        k = own // units
        unit = own % units
        cuda.atomic.add(grad_weights, (layer, k, unit), sum_over_pixels(inputs, k, deltas, unit))
    total = float32(0)
    for k in range(UNITS):
        for unit in range(units):
            total += weights[layer, k, unit] * deltas[unit, me]
        gradient[k] = total
    cuda.syncthreads()
