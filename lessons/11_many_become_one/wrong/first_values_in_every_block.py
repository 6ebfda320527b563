"""Each block adds the first 256 values."""
# caught by: sum
# diagnosis: first values by every block

from numba import cuda, float32

from kernels.reductions.sums import WARPS


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)

    own_sum = float32(0)
    i = cuda.threadIdx.x
    if i < values.shape[0]:
        own_sum += values[i]
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
