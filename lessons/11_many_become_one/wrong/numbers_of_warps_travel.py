"""In the second half the numbers of the warps go along with the values, and not the indices."""
# caught by: argmax
# diagnosis: equal ones undecided

from numba import cuda, int32
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
    slot = int32(lane % WARPS)
    value, winner = warp_argmax(warp_values[slot], slot, WARPS)
    return warp_indices[winner]
