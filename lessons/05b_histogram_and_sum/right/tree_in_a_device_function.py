"""A device function holds the tree and its barriers."""

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit(device=True)
def reduce_block(sums, thread):
    active = BLOCK_THREADS // 2
    while active > 0:
        if thread < active:
            sums[thread] += sums[thread + active]
        cuda.syncthreads()
        active //= 2
    return sums[0]


@cuda.jit
def sum_tree(values, total):
    partial_sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    partial_sums[thread] = own
    cuda.syncthreads()
    block_sum = reduce_block(partial_sums, thread)
    if thread == 0:
        cuda.atomic.add(total, 0, block_sum)
