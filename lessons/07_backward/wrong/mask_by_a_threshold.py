"""A tiny activation counts as zero."""
# caught by: relu_backward
# diagnosis: threshold

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit >= activations.shape[1]:
        return
    if activations[sample, unit] > float32(1e-6):
        activations[sample, unit] = gradients[sample, unit]
    else:
        activations[sample, unit] = float32(0)
