"""Threads without a value return, and the others wait for them in the shuffles."""
# caught by: sum
# diagnosis: barrier

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    if cuda.grid(1) >= values.shape[0]:
        return

    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
