"""The columns of a thread's biases lie side by side."""
# caught by: epilogue
# diagnosis: biases side by side

from numba import cuda

from kernels.products.epilogue import gelu
from kernels.products.tiles import PER_THREAD


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    for j in range(PER_THREAD):
        column = first_column + cuda.threadIdx.x * PER_THREAD + j
        if column < bias.shape[0]:
            for i in range(PER_THREAD):
                sums[i, j] = gelu(sums[i, j] + bias[column])
