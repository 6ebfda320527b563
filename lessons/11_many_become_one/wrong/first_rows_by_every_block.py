"""Every block adds the first rows."""
# caught by: column_sums
# diagnosis: first rows by every block

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def column_sums_by_blocks(gradient, sums):
    warp_sums = cuda.shared.array(WARPS, float32)
    row = cuda.threadIdx.x
    rows, columns = gradient.shape
    for column in range(columns):
        value = float32(0)
        if row < rows:
            value = gradient[row, column]
        total = block_sum(value, warp_sums)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(sums, column, total)
        cuda.syncthreads()
