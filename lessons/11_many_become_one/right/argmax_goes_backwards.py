"""A thread goes through its values from the last to the first, and keeps the index alone."""

from numba import cuda, float32, int32

from kernels.reductions.maximum import block_argmax
from kernels.reductions.sums import WARPS


@cuda.jit
def argmax_blocks(values, candidates):
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)
    # Whoever has no value of its own takes that of index 0.
    index = int32(0)
    value = values[0]
    i = cuda.grid(1)
    while i < values.shape[0]:
        new = values[i]
        if (new != new and value == value) or new > value:
            value, index = new, int32(i)
        i += cuda.gridsize(1)
    index = block_argmax(value, index, warp_values, warp_indices)
    if cuda.threadIdx.x == 0:
        candidates[cuda.blockIdx.x] = index
