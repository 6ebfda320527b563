"""The sum of the block is in the threads of its first warp only."""
# caught by: prefix_sum
# diagnosis: parts for the first warp only

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import WARP, WARPS, warp_sum


@register_jitable
def block_sum(value, warp_sums):
    thread = cuda.threadIdx.x
    lane = thread % WARP
    warp = thread // WARP
    total = warp_sum(value, WARP)
    if lane == 0:
        warp_sums[warp] = total
    cuda.syncthreads()
    if warp == 0:
        total = warp_sum(warp_sums[lane % WARPS], WARPS)
    return total
