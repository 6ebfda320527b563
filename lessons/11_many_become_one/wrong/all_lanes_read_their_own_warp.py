"""Each lane reads the sum of its own warp, and not that of another."""
# caught by: sum
# diagnosis: own warp eight times

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
    return warp_sum(warp_sums[warp], WARPS)
