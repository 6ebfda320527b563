"""No barrier between storing the sums of the warps and reading them."""
# caught by: sum
# diagnosis: race

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import WARP, WARPS, warp_sum


@register_jitable
def block_sum(value, warp_sums):
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    value = warp_sum(value, WARP)
    if lane == 0:
        warp_sums[warp] = value
    return warp_sum(warp_sums[lane % WARPS], WARPS)
