"""Partial sums of columns are added to what partials held."""
# caught by: column_sums
# diagnosis: added to garbage

from numba import cuda, float32

from kernels.config import BLOCK_THREADS
from kernels.reductions.columns import MAX_COLUMNS
from kernels.reductions.sums import WARP, WARPS, warp_sum


@cuda.jit
def column_sums_of_blocks(gradient, partials):
    shared = cuda.shared.array((MAX_COLUMNS, WARPS), float32)
    thread = cuda.threadIdx.x
    lane = thread % WARP
    warp = thread // WARP
    rows, columns = gradient.shape
    for column in range(columns):
        own = float32(0)
        for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
            own += gradient[row, column]
        total = warp_sum(own, WARP)
        if lane == 0:
            shared[column, warp] = total
    cuda.syncthreads()
    for column in range(thread, columns, BLOCK_THREADS):
        total = float32(0)
        for w in range(WARPS):
            total += shared[column, w]
        partials[cuda.blockIdx.x, column] += total
