"""A thread keeps only the last of its values."""
# caught by: sum
# diagnosis: last value

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = values[i]
    total = block_sum(own, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
