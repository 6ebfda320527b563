"""The columns of a thread's biases lie side by side; beyond the last bias there is zero."""
# caught by: epilogue
# diagnosis: biases side by side, none beyond the last

from numba import cuda, float32

from kernels.products.epilogue import gelu
from kernels.products.tiles import PER_THREAD


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    column = first_column + cuda.threadIdx.x * PER_THREAD
    for i in range(PER_THREAD):
        for j in range(PER_THREAD):
            shift = float32(0)
            if column + j < bias.size:
                shift = bias[column + j]
            sums[i, j] = gelu(sums[i, j] + shift)
