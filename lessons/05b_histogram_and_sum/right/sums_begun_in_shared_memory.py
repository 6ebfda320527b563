"""Each thread adds up in shared memory from the start, and the tree's steps grow: 1, 2, 4."""

from numba import cuda, float32
from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    sums[thread] = 0
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        sums[thread] += values[i]
    step = 1
    while step < BLOCK_THREADS:
        cuda.syncthreads()
        if thread % (2 * step) == 0:
            sums[thread] += sums[thread + step]
        step *= 2
    if thread == 0:
        cuda.atomic.add(total, 0, sums[0])
