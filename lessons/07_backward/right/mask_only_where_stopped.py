"""Where the activation is zero it stays as it is: it is the delta already."""

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit >= activations.shape[1]:
        return
    if activations[sample, unit] > float32(0):
        activations[sample, unit] = gradients[sample, unit]
