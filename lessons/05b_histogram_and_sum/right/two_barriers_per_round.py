"""Each round reads, waits, adds and waits again; active is shifted."""

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    partial_sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    partial_sums[thread] = own
    cuda.syncthreads()
    active = BLOCK_THREADS >> 1
    while active:
        other = float32(0)
        if thread < active:
            other = partial_sums[thread + active]
        cuda.syncthreads()
        partial_sums[thread] += other
        cuda.syncthreads()
        active >>= 1
    if thread == 0:
        cuda.atomic.add(total, 0, partial_sums[0])
