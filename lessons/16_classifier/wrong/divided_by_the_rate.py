"""The gradient is divided by the learning rate."""
# caught by: epoch
# diagnosis: divided by the rate

from numba import cuda


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    i = cuda.grid(1)
    if i < parameters.shape[0]:
        parameters[i] -= gradients[i] / learning_rate
