"""The blocks add to partials, which hold garbage."""
# caught by: sum
# diagnosis: added to garbage

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    total = block_sum(own_sum, warp_sums)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(partials, cuda.blockIdx.x, total)
