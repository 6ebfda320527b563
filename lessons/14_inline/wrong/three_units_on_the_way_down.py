"""The gradient of the inputs is made of as many units as there are colours, in each layer."""
# caught by: weights
# diagnosis: three units on the way down

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS
from kernels.inline.sizes import CELL, PIXELS, ROWS, UNITS


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
        for unit in range(COLOURS):
            total += weights[layer, k, unit] * deltas[unit, me]
        gradient[k] = total
    cuda.syncthreads()
