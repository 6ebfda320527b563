"""A parameter becomes a moving average of itself and its gradient."""
# caught by: epoch
# diagnosis: mixed with the gradient

from numba import cuda, float32


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    i = cuda.grid(1)
    if i < parameters.shape[0]:
        kept = (float32(1) - learning_rate) * parameters[i]
        parameters[i] = kept + learning_rate * gradients[i]
