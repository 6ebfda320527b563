"""The sum of the last warp is left out."""
# caught by: column_sums
# diagnosis: one warp too few

from numba import cuda, float32

from kernels.config import BLOCK_THREADS
from kernels.reductions.columns import MAX_COLUMNS
from kernels.reductions.sums import WARP, WARPS, warp_sum


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    warp_sums = cuda.shared.array((WARPS, MAX_COLUMNS), float32)
    thread = cuda.threadIdx.x
    rows, columns = gradient.shape

    for column in range(columns):
        own_sum = float32(0)
        for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
            own_sum += gradient[row, column]
        total = warp_sum(own_sum, WARP)
        if thread % WARP == 0:
            warp_sums[thread // WARP, column] = total
    cuda.syncthreads()

    for column in range(thread, columns, BLOCK_THREADS):
        total = float32(0)
        for warp in range(WARPS - 1):
            total += warp_sums[warp, column]
        partials[cuda.blockIdx.x, column] = total
