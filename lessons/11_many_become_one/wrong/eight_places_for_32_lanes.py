"""Each lane reads a place of its own, of which there are only eight."""
# caught by: sum
# diagnosis: out-of-bounds

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
    return warp_sum(warp_sums[lane], WARP)
