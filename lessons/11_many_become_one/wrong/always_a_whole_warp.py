"""How many lanes a group has is ignored."""
# caught by: warp_sum
# diagnosis: always 32 lanes

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_sum(value, lanes):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(ALL_LANES, value, step)
    return value
