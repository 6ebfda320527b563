"""Each thread goes on by the threads of a block: rows are added by several blocks."""
# caught by: column_sums
# diagnosis: steps of one block

from numba import cuda, float32

from kernels.config import BLOCK_THREADS, WARP
from kernels.reductions.columns import MAX_COLUMNS
from kernels.reductions.sums import WARPS, warp_sum


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    warp_sums = cuda.shared.array((WARPS, MAX_COLUMNS), float32)
    thread = cuda.threadIdx.x
    rows, columns = gradient.shape

    for column in range(columns):
        own_sum = float32(0)
        for row in range(cuda.grid(1), rows, BLOCK_THREADS):
            own_sum += gradient[row, column]
        total = warp_sum(own_sum, WARP)
        if thread % WARP == 0:
            warp_sums[thread // WARP, column] = total
    cuda.syncthreads()

    for column in range(thread, columns, BLOCK_THREADS):
        total = float32(0)
        for warp in range(WARPS):
            total += warp_sums[warp, column]
        partials[cuda.blockIdx.x, column] = total
