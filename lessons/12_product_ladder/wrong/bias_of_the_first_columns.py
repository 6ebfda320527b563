"""Every block adds the first biases."""
# caught by: epilogue
# diagnosis: bias of the first columns

from numba import cuda

from kernels.products.epilogue import gelu
from kernels.products.tiles import PER_THREAD, SIDE


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    for j in range(PER_THREAD):
        column = cuda.threadIdx.x + j * SIDE
        if first_column + column < bias.shape[0]:
            for i in range(PER_THREAD):
                sums[i, j] = gelu(sums[i, j] + bias[column])
