"""The activation is multiplied by the gradient."""
# caught by: relu_backward
# diagnosis: times the activation

from numba import cuda


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit >= activations.shape[1]:
        return
    activations[sample, unit] *= gradients[sample, unit]
