"""Thread 0 adds up the partial sums of all, one after the other."""
# caught by: one_addition
# diagnosis: one thread adds up

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
    if thread == 0:
        together = float32(0)
        for i in range(BLOCK_THREADS):
            together += partial_sums[i]
        cuda.atomic.add(total, 0, together)
