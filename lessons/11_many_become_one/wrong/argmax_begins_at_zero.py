"""A thread begins with zero, and all values are below it."""
# caught by: argmax
# diagnosis: begun too high

from numba import cuda, float32, int32

from kernels.reductions.maximum import block_argmax, comes_first
from kernels.reductions.sums import WARPS


@cuda.jit
def argmax_blocks(values, candidates):
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)

    value, index = float32(0), int32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        if comes_first(values[i], int32(i), value, index):
            value, index = values[i], int32(i)
    index = block_argmax(value, index, warp_values, warp_indices)
    if cuda.threadIdx.x == 0:
        candidates[cuda.blockIdx.x] = index
