"""Sums by shfl_down_sync, of which only lane 0 has the result; the eight are added by thread 0."""

from numba import cuda, float32


@cuda.jit
def sum_blocks(values, partials):
    of_warps = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    own = float32(0)
    i = cuda.blockIdx.x * cuda.blockDim.x + thread
    while i < values.size:
        own += values[i]
        i += cuda.gridDim.x * cuda.blockDim.x
    for step in (16, 8, 4, 2, 1):
        own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
    if thread & 31 == 0:
        of_warps[thread >> 5] = own
    cuda.syncthreads()
    if thread == 0:
        for warp in range(1, 8):
            own += of_warps[warp]
        partials[cuda.blockIdx.x] = own
