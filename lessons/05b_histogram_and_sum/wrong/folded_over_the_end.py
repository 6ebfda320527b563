"""The fold is always over the end of the whole array."""
# caught by: sum_tree
# diagnosis: partner

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    partial = cuda.shared.array(BLOCK_THREADS, float32)
    t = cuda.threadIdx.x
    s = float32(0)
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        s += values[i]
    partial[t] = s
    cuda.syncthreads()
    size = BLOCK_THREADS
    while size > 1:
        if t < size // 2:
            partial[t] += partial[BLOCK_THREADS - 1 - t]
        cuda.syncthreads()
        size //= 2
    if t == 0:
        cuda.atomic.add(total, 0, partial[0])
