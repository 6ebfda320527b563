"""The sums of columns come from block_sum, column by column, and the block waits twice for each."""
# caught by: column_sums
# diagnosis: a barrier for each column

from numba import cuda, float32

from kernels.reductions.sums import block_sum


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    shared = cuda.shared.array(8, float32)
    rows, columns = gradient.shape
    for column in range(columns):
        acc = float32(0)
        row = cuda.grid(1)
        while row < rows:
            acc += gradient[row, column]
            row += cuda.gridsize(1)
        acc = block_sum(acc, shared)
        if cuda.threadIdx.x == 0:
            partials[cuda.blockIdx.x, column] = acc
        cuda.syncthreads()
