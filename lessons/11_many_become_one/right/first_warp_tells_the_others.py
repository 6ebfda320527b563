"""The first warp alone adds up the eight sums, and leaves the result for all."""

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import WARP, WARPS, warp_sum


@register_jitable
def block_sum(value, warp_sums):
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    value = warp_sum(value, WARP)
    if lane == 0:
        warp_sums[warp] = value
    cuda.syncthreads()
    if warp == 0:
        total = warp_sum(warp_sums[lane % WARPS], WARPS)
        cuda.syncwarp()
        if lane == 0:
            warp_sums[0] = total
    cuda.syncthreads()
    return warp_sums[0]
