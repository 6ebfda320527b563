"""Neighbouring threads have neighbouring columns, and the rows of a block are added up in shared memory."""

from numba import cuda, float32

MOST = 128


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    sums = cuda.shared.array(256, float32)
    thread = cuda.threadIdx.x
    rows, columns = gradient.shape
    together = 256 // columns  # rows that the block reads at the same time
    column, first = thread % columns, thread // columns
    own = float32(0)
    if first < together:
        for row in range(cuda.blockIdx.x * together + first, rows, cuda.gridDim.x * together):
            own += gradient[row, column]
    sums[thread] = own
    cuda.syncthreads()
    if thread < columns:
        total = float32(0)
        for other in range(together):
            total += sums[other * columns + thread]
        partials[cuda.blockIdx.x, thread] = total
