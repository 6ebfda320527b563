"""The gradient decides what passes, not the activation."""
# caught by: relu_backward
# diagnosis: mask of the gradient

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit >= activations.shape[1]:
        return
    if gradients[sample, unit] > float32(0):
        activations[sample, unit] = gradients[sample, unit]
    else:
        activations[sample, unit] = float32(0)
