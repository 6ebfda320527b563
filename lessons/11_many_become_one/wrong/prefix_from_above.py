"""Each lane adds what higher lanes have."""
# caught by: prefix_sum
# diagnosis: from above

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES, WARP


@register_jitable
def warp_prefix(value):
    lane = cuda.threadIdx.x % WARP
    step = 1
    while step < WARP:
        below = cuda.shfl_down_sync(ALL_LANES, value, step)
        if lane >= step:
            value += below
        step *= 2
    return value
