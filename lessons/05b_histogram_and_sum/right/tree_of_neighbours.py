"""The tree begins with neighbours: slower, and right."""

from numba import cuda, float32

from kernels.histogram import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    partial_sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    partial_sums[thread] = own_sum
    cuda.syncthreads()
    step = 1
    while step < BLOCK_THREADS:
        if thread % (2 * step) == 0:
            partial_sums[thread] += partial_sums[thread + step]
        cuda.syncthreads()
        step *= 2
    if thread == 0:
        cuda.atomic.add(total, 0, partial_sums[0])
