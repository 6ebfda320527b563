"""A block counts in shared memory with atomic additions, in any order."""
# caught by: same_bits
# diagnosis: order

from numba import cuda, float32

from kernels.config import BLOCK_THREADS
from kernels.reductions.columns import MAX_COLUMNS


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    sums = cuda.shared.array(MAX_COLUMNS, float32)
    rows, columns = gradient.shape
    for column in range(cuda.threadIdx.x, columns, BLOCK_THREADS):
        sums[column] = 0
    cuda.syncthreads()
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        for column in range(columns):
            cuda.atomic.add(sums, column, gradient[row, column])
    cuda.syncthreads()
    for column in range(cuda.threadIdx.x, columns, BLOCK_THREADS):
        partials[cuda.blockIdx.x, column] = sums[column]
