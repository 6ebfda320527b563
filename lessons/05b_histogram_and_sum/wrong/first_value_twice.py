"""The first value is taken before the loop, and in its first round again."""
# caught by: sum_tree
# diagnosis: Values 0 to 255 are added twice

from numba import cuda, float32

from kernels.config import BLOCK_THREADS


@cuda.jit
def sum_tree(values, total):
    shared = cuda.shared.array(BLOCK_THREADS, float32)
    t = cuda.threadIdx.x
    mine = float32(0)
    if cuda.grid(1) < values.shape[0]:
        mine = values[cuda.grid(1)]
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        mine += values[i]
    shared[t] = mine
    half = BLOCK_THREADS // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            shared[t] += shared[t + half]
        half //= 2
    if t == 0:
        cuda.atomic.add(total, 0, shared[0])
