"""The sum of a warp is taken for that of the block."""
# caught by: sum
# diagnosis: first warp only

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import WARP, WARPS, warp_sum


@register_jitable
def block_sum(value, warp_sums):
    return warp_sum(value, WARP)
