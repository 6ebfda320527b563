"""The first eight threads store, all of them what the first warp has."""
# caught by: sum
# diagnosis: own warp eight times

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import WARP, WARPS, warp_sum


@register_jitable
def block_sum(value, warp_sums):
    thread = cuda.threadIdx.x
    total = warp_sum(value, WARP)
    if thread < WARPS:
        warp_sums[thread] = total
    cuda.syncthreads()
    return warp_sum(warp_sums[thread % WARPS], WARPS)
