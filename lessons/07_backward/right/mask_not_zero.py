"""The mask asks whether the activation is other than zero; rows as views."""

from numba import cuda


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= len(activations) or unit >= activations.shape[1]:
        return
    deltas = activations[sample]
    if deltas[unit] != 0:
        deltas[unit] = gradients[sample, unit]
