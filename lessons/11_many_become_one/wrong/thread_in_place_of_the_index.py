"""Of each warp the number of a thread is kept, and not the index."""
# caught by: argmax
# diagnosis: thread's number in place of the index

from numba import cuda
from numba.extending import register_jitable

from kernels.config import WARP
from kernels.reductions.maximum import warp_argmax
from kernels.reductions.sums import WARPS


@register_jitable
def block_argmax(value, index, warp_values, warp_indices):
    lane = cuda.threadIdx.x % WARP
    warp = cuda.threadIdx.x // WARP
    value, index = warp_argmax(value, index, WARP)
    if lane == 0:
        warp_values[warp] = value
        warp_indices[warp] = cuda.threadIdx.x
    cuda.syncthreads()
    value, index = warp_argmax(warp_values[lane % WARPS], warp_indices[lane % WARPS], WARPS)
    return index
