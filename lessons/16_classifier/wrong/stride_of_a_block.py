"""A loop over the parameters goes on by the threads of a block, not of the grid."""
# caught by: float32
# diagnosis: goes on by the threads of one block

from numba import cuda


@cuda.jit
def sgd(parameters, gradients, learning_rate):
    tid = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    stride = cuda.blockDim.x
    n = parameters.size
    i = tid
    while i < n:
        parameters[i] -= learning_rate * gradients[i]
        i += stride
