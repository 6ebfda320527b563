"""The lane is the number of the thread in its block."""
# caught by: prefix_sum
# diagnosis: lanes counted in the block

from numba import cuda
from numba.extending import register_jitable

from kernels.config import WARP
from kernels.reductions.sums import ALL_LANES


@register_jitable
def warp_prefix(value):
    lane = cuda.threadIdx.x
    step = 1
    while step < WARP:
        below = cuda.shfl_up_sync(ALL_LANES, value, step)
        if lane >= step:
            value += below
        step *= 2
    return value
