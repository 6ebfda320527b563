"""The owner of a bias adds its own pixel's delta, and not the sum over all pixels."""
# caught by: weights
# diagnosis: bias of one pixel

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.inline.sizes import CELL, PIXELS, UNITS


@register_jitable
def backward_layer(activations, gradient, inputs, deltas, weights, grad_weights, layer, units):
    me = cuda.threadIdx.x + cuda.threadIdx.y * CELL
    for k in range(UNITS):
        inputs[k, me] = activations[layer, k]
    for j in range(units):
        d = gradient[j]
        if not activations[layer + 1, j] > 0:
            d = float32(0)
        deltas[j, me] = d
    cuda.syncthreads()
    for weight in range(me, UNITS * units, PIXELS):
        k = weight // units
        j = weight - k * units
        cuda.atomic.add(grad_weights, (layer, k, j), sum_over_pixels(inputs, k, deltas, j))
    if me < units:
        cuda.atomic.add(grad_weights, (layer, UNITS, me), deltas[me, me])
    for k in range(UNITS):
        gradient[k] = float32(0)
        for j in range(units):
            gradient[k] += weights[layer, k, j] * deltas[j, me]
    cuda.syncthreads()
