"""i and j are exchanged in the epilogue."""
# caught by: epilogue
# diagnosis: i and j of the bias exchanged

from numba import cuda

from kernels.products.epilogue import gelu
from kernels.products.tiles import PER_THREAD, SIDE


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    for j in range(PER_THREAD):
        column = first_column + cuda.threadIdx.x + j * SIDE
        if column < bias.shape[0]:
            for i in range(PER_THREAD):
                sums[j, i] = gelu(sums[j, i] + bias[column])
