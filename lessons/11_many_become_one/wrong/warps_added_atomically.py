"""The warps of a block add to one number in shared memory, in any order."""
# caught by: sum
# diagnosis: in shared memory as well

from numba import cuda
from numba.extending import register_jitable

from kernels.config import WARP
from kernels.reductions.sums import warp_sum


@register_jitable
def block_sum(value, warp_sums):
    if cuda.threadIdx.x == 0:
        warp_sums[0] = 0
    cuda.syncthreads()
    of_my_warp = warp_sum(value, WARP)
    if cuda.threadIdx.x % WARP == 0:
        cuda.atomic.add(warp_sums, 0, of_my_warp)
    cuda.syncthreads()
    return warp_sums[0]
