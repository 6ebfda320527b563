"""Threads without a value store nothing, but their place is read."""
# caught by: sum_tree
# diagnosis: uninitialised

from numba import cuda, float32

from kernels.histogram import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    partial_sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x

    own_sum = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own_sum += values[i]
    if cuda.grid(1) < values.shape[0]:
        partial_sums[thread] = own_sum

    active = BLOCK_THREADS // 2
    while active > 0:
        cuda.syncthreads()
        if thread < active:
            partial_sums[thread] += partial_sums[thread + active]
        active //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, partial_sums[0])
