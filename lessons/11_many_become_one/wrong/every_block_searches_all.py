"""Every block goes through all values, and not through a part of them."""
# caught by: argmax
# diagnosis: threads without work

import math

from numba import cuda, float32, int32

from kernels.config import BLOCK_THREADS
from kernels.reductions.maximum import block_argmax, comes_first
from kernels.reductions.sums import WARPS


@cuda.jit
def argmax_blocks(values, candidates):
    warp_values = cuda.shared.array(WARPS, float32)
    warp_indices = cuda.shared.array(WARPS, int32)
    value = float32(-math.inf)
    index = int32(0)
    for i in range(cuda.threadIdx.x, values.shape[0], BLOCK_THREADS):
        if comes_first(values[i], i, value, index):
            value = values[i]
            index = int32(i)
    index = block_argmax(value, index, warp_values, warp_indices)
    if cuda.threadIdx.x == 0:
        candidates[cuda.blockIdx.x] = index
