"""The gradient itself is the step."""
# caught by: epoch
# diagnosis: rate forgotten

from numba import cuda


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    i = cuda.grid(1)
    if i >= parameters.shape[0]:
        return

    parameters[i] -= gradients[i]
