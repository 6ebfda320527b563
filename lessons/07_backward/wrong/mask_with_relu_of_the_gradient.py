"""relu is applied to the gradient, as on the way forward."""
# caught by: relu_backward
# diagnosis: mask of the gradient

from numba import cuda

from kernels.field_math import relu


@cuda.jit
def relu_backward(gradients, activations):
    unit, sample = cuda.grid(2)
    if sample >= activations.shape[0] or unit >= activations.shape[1]:
        return
    activations[sample, unit] = relu(gradients[sample, unit])
