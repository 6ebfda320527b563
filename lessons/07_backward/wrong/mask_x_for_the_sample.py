"""x is the sample, and y the unit: the grid is made for the other way."""
# caught by: relu_backward
# diagnosis: x and y are exchanged

from numba import cuda, float32


@cuda.jit
def relu_backward(gradients, activations):
    i, j = cuda.grid(2)
    rows = activations.shape[0]
    cols = activations.shape[1]
    if i >= rows or j >= cols:
        return
    if activations[i, j] > float32(0):
        activations[i, j] = gradients[i, j]
    else:
        activations[i, j] = float32(0)
