"""threadIdx counts within a block."""
# caught by: epoch
# diagnosis: race

from numba import cuda


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    i = cuda.threadIdx.x
    if i >= parameters.shape[0]:
        return

    parameters[i] -= learning_rate * gradients[i]
