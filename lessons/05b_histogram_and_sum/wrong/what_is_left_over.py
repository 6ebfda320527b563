"""Each thread takes n // gridsize values, and nobody what is left over."""
# caught by: sum_tree
# diagnosis: Values 768 to 999 are added by no thread

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    parts = cuda.shared.array(BLOCK_THREADS, float32)
    t = cuda.threadIdx.x
    share = values.shape[0] // cuda.gridsize(1)
    begin = cuda.grid(1) * share
    part = float32(0)
    for i in range(begin, begin + share):
        part += values[i]
    parts[t] = part
    cuda.syncthreads()
    width = BLOCK_THREADS // 2
    while width > 0:
        if t < width:
            parts[t] += parts[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        cuda.atomic.add(total, 0, parts[0])
