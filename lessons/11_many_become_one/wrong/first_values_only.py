"""No loop over values: one per thread."""
# caught by: sum
# diagnosis: first values only

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    i = cuda.grid(1)
    own_sum = values[i] if i < values.shape[0] else float32(0)
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
