"""x counts samples, y units: the grid is made for the other way."""
# caught by: relu_backward
# diagnosis: out-of-bounds

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    sample, unit = cuda.grid(2)
    if activations[sample, unit] > float32(0):
        activations[sample, unit] = gradients[sample, unit]
    else:
        activations[sample, unit] = float32(0)
