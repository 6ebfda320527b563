"""The rounds of the tree are a tuple, and each sums into a variable first."""

from numba import cuda, float32

SIZE = 256


@cuda.jit(device=True)
def own_part(values):
    together = float32(0)
    i = cuda.grid(1)
    while i < values.shape[0]:
        together = together + values[i]
        i += cuda.gridsize(1)
    return together


@cuda.jit
def sum_tree(values, total):
    shared = cuda.shared.array(SIZE, float32)
    t = cuda.threadIdx.x
    mine = own_part(values)
    shared[t] = mine
    cuda.syncthreads()
    for half in (128, 64, 32, 16, 8, 4, 2, 1):
        if t < half:
            mine += shared[t + half]
            shared[t] = mine
        cuda.syncthreads()
    if t == 0:
        cuda.atomic.add(total, 0, mine)
