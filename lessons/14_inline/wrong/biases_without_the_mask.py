"""The biases' sums take the gradient before the ReLU's mask; they have a loop of their own."""
# caught by: weights
# diagnosis: biases without the mask

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, PIXELS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    me = cuda.threadIdx.y * CELL + cuda.threadIdx.x
    for unit in range(units):
        deltas[unit, me] = gradient[unit]
    inputs[UNITS, me] = float32(1)
    cuda.syncthreads()
    if me < units:
        bias = sum_over_pixels(inputs, UNITS, deltas, me)
        cuda.atomic.add(grad_weights, (layer, UNITS, me), bias)
    cuda.syncthreads()
    for unit in range(units):
        if activations[layer + 1, unit] <= float32(0):
            deltas[unit, me] = float32(0)
    for k in range(UNITS):
        inputs[k, me] = activations[layer, k]
        gradient[k] = float32(0)
        for unit in range(units):
            gradient[k] += weights[layer, k, unit] * deltas[unit, me]
    cuda.syncthreads()
    for own in range(me, UNITS * units, PIXELS):
        k = own // units
        unit = own % units
        cuda.atomic.add(grad_weights, (layer, k, unit), sum_over_pixels(inputs, k, deltas, unit))
    cuda.syncthreads()
