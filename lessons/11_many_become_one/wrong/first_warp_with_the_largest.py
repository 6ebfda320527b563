"""Of the warps' values a later one counts only if it is larger, whatever the indices are."""
# caught by: argmax
# diagnosis: two warps of a block

from numba import cuda
from numba.extending import register_jitable

from kernels.reductions.maximum import warp_argmax
from kernels.reductions.sums import WARP, WARPS


@register_jitable
def block_argmax(value, index, warp_values, warp_indices):
    lane, warp = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    value, index = warp_argmax(value, index, WARP)
    if lane == 0:
        warp_values[warp] = value
        warp_indices[warp] = index
    cuda.syncthreads()
    value, index = warp_values[0], warp_indices[0]
    for other in range(1, WARPS):
        found = warp_values[other]
        if found > value or (found != found and value == value):
            value, index = found, warp_indices[other]
    return index
