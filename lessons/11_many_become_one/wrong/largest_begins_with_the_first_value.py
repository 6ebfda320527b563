"""A maximum begins with values[0], also in a block without a value."""
# caught by: max
# diagnosis: a block without values

from numba import cuda, float32

from kernels.reductions.sums import WARPS


@cuda.jit
def max_blocks(values, partials):
    warp_maxima = cuda.shared.array(WARPS, float32)

    own = values[0]
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own = larger(own, values[i])
    largest = block_max(own, warp_maxima)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = largest
