"""Each block goes over all values, in steps of a block."""
# caught by: sum
# diagnosis: every block adds all

from numba import cuda, float32

from kernels.config import BLOCK_THREADS
from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    own_sum = float32(0)
    for i in range(cuda.threadIdx.x, values.shape[0], BLOCK_THREADS):
        own_sum += values[i]
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
