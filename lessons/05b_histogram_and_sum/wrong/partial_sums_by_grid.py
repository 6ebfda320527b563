"""The partial sum is stored at the number in the grid, beyond the end but in block 0."""
# caught by: sum_tree
# diagnosis: cuda.threadIdx.x

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    partial_sums = cuda.shared.array(BLOCK_THREADS, float32)
    thread = cuda.threadIdx.x
    own = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        own += values[i]
    partial_sums[cuda.grid(1)] = own
    cuda.syncthreads()
    active = BLOCK_THREADS // 2
    while active > 0:
        if thread < active:
            partial_sums[thread] += partial_sums[thread + active]
        cuda.syncthreads()
        active //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, partial_sums[0])
