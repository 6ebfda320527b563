"""Lanes compare by themselves, and not with larger."""
# caught by: max
# diagnosis: NaN lost

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.sums import ALL_LANES, WARP, WARPS


@register_jitable
def block_max(value, warp_maxima):
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    step = WARP // 2
    while step > 0:
        other = cuda.shfl_xor_sync(ALL_LANES, value, step)
        if other > value:
            value = other
        step //= 2
    if lane == 0:
        warp_maxima[warp] = value
    cuda.syncthreads()

    value = warp_maxima[lane % WARPS]
    step = WARPS // 2
    while step > 0:
        other = cuda.shfl_xor_sync(ALL_LANES, value, step)
        if other > value:
            value = other
        step //= 2
    return value
