"""A block has values that lie side by side, not in steps of the grid; barriers more than enough."""

from numba import cuda, float32

from kernels.reductions.sums import WARPS, block_sum


@cuda.jit
def sum_blocks(values, partials):
    warp_sums = cuda.shared.array(WARPS, float32)
    count = values.shape[0]
    part = (count + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * part
    last = min(first + part, count)
    own_sum = float32(0)
    for i in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
        own_sum += values[i]
    cuda.syncthreads()
    total = block_sum(own_sum, warp_sums)
    cuda.syncthreads()
    if cuda.threadIdx.x == 255:
        partials[cuda.blockIdx.x] = total
