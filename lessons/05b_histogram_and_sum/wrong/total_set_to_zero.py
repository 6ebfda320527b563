"""Each block sets total to zero first, although others have added to it."""
# caught by: sum_tree
# diagnosis: stores into it

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    buf = cuda.shared.array(BLOCK_THREADS, float32)
    tid = cuda.threadIdx.x
    if tid == 0:
        total[0] = float32(0)
    buf[tid] = float32(0)
    cuda.syncthreads()
    k = cuda.blockIdx.x * cuda.blockDim.x + tid
    while k < values.shape[0]:
        buf[tid] += values[k]
        k += cuda.blockDim.x * cuda.gridDim.x
    for level in range(7, -1, -1):
        cuda.syncthreads()
        if tid < (1 << level):
            buf[tid] += buf[tid + (1 << level)]
    if tid == 0:
        cuda.atomic.add(total, 0, buf[0])
