"""The thread's own sum begins as 0.0, a double."""
# caught by: float32
# diagnosis: slow

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    own_sum = 0.0
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
