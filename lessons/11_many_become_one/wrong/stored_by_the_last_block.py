"""The blocks store their sums over each other's."""
# caught by: column_sums
# diagnosis: race

from numba import cuda, float32

from kernels.reductions.sums import WARP, WARPS, block_sum, warp_sum


@cuda.jit
def column_sums_by_blocks(gradient, sums):
    warp_sums = cuda.shared.array(WARPS, float32)
    row = cuda.grid(1)
    rows, columns = gradient.shape

    for column in range(columns):
        value = gradient[row, column] if row < rows else float32(0)
        total = block_sum(value, warp_sums)
        if cuda.threadIdx.x == 0:
            sums[column] += total
        cuda.syncthreads()
