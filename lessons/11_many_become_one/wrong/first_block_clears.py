"""The first block sets partials to zero, and a barrier is to hold back the others, which add."""
# caught by: sum
# diagnosis: nothing has to be cleared

from numba import cuda, float32

from kernels.config import BLOCK_THREADS
from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    me = cuda.grid(1)
    everyone = cuda.gridsize(1)

    if cuda.blockIdx.x == 0:
        for b in range(cuda.threadIdx.x, partials.shape[0], BLOCK_THREADS):
            partials[b] = float32(0)
    cuda.syncthreads()

    own = float32(0)
    for i in range(me, values.shape[0], everyone):
        own += values[i]
    total = block_sum(own, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] += total
