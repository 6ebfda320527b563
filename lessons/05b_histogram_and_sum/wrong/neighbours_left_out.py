"""A tree of neighbours begins with pairs that are two apart."""
# caught by: sum_tree
# diagnosis: only one partial sum arrives

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    sums = cuda.shared.array(BLOCK_THREADS, float32)
    t = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    sums[t] = own
    cuda.syncthreads()
    stride = 2
    while stride < BLOCK_THREADS:
        if t % (2 * stride) == 0:
            sums[t] += sums[t + stride]
        stride *= 2
        cuda.syncthreads()
    if t == 0:
        cuda.atomic.add(total, 0, sums[0])
