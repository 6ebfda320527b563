"""Gradients beyond 1 and -1 are cut off before the step, a habit that nobody asked for."""
# caught by: epoch
# diagnosis: No number changes by more than

from numba import cuda, float32


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    i = cuda.grid(1)
    if i < parameters.shape[0]:
        largest_step = float32(1)
        clipped = min(max(gradients[i], -largest_step), largest_step)
        parameters[i] -= learning_rate * clipped
