"""Each parameter moves by the learning rate, up or down, however steep its slope is."""
# caught by: epoch
# diagnosis: Is only the sign used?

import math

from numba import cuda, float32


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    i = cuda.grid(1)
    if i < parameters.shape[0]:
        parameters[i] -= learning_rate * float32(math.copysign(float32(1), gradients[i]))
