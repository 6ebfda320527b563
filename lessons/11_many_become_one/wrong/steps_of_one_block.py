"""A thread's next value is a block further on, where another block's values lie."""
# caught by: sum
# diagnosis: steps of one block

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.blockDim.x):
        own += values[i]
    total = block_sum(own, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
