"""The step goes with the gradient: the loss grows."""
# caught by: epoch
# diagnosis: uphill

from numba import cuda


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    i = cuda.grid(1)
    if i >= parameters.shape[0]:
        return

    parameters[i] += learning_rate * gradients[i]
