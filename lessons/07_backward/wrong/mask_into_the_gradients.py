"""The gradients are changed, and the activations stay."""
# caught by: relu_backward
# diagnosis: changed input

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit >= activations.shape[1]:
        return
    if activations[sample, unit] > float32(0):
        return
    gradients[sample, unit] = float32(0)
