"""The bias is that of the thread's number j."""
# caught by: epilogue
# diagnosis: bias of j

from numba import cuda

from kernels.products.epilogue import gelu
from kernels.products.tiles import PER_THREAD, SIDE


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    for j in range(PER_THREAD):
        column = first_column + cuda.threadIdx.x + j * SIDE
        if column < bias.shape[0]:
            for i in range(PER_THREAD):
                sums[i, j] = gelu(sums[i, j] + bias[j])
