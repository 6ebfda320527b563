"""A maximum of -inf is not stored."""
# caught by: max
# diagnosis: nothing stored

import math

from numba import cuda, float32

from kernels.reductions.sums import WARPS


@cuda.jit
def max_blocks(values, partials):
    warp_maxima = cuda.shared.array(WARPS, float32)

    own = float32(-math.inf)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = larger(own, values[i])
    largest = block_max(own, warp_maxima)
    if (cuda.threadIdx.x == 0 and largest > float32(-math.inf)) or (
        math.isnan(largest) and cuda.threadIdx.x == 0
    ):
        partials[cuda.blockIdx.x] = largest
