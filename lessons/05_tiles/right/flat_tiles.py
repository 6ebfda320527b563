"""Tile sizes of one's own, one-dimensional shared arrays."""

from numba import cuda, float32


SIDE = 16
NUMBERS = SIDE * SIDE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array(NUMBERS, float32)
    b_tile = cuda.shared.array(NUMBERS, float32)
    me = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], SIDE):
        k = start + cuda.threadIdx.x
        a_tile[me] = a[row, k] if row < a.shape[0] and k < a.shape[1] else float32(0)
        k = start + cuda.threadIdx.y
        b_tile[me] = b[k, column] if k < b.shape[0] and column < b.shape[1] else float32(0)
        cuda.syncthreads()
        for i in range(SIDE):
            total += a_tile[cuda.threadIdx.y * SIDE + i] * b_tile[i * SIDE + cuda.threadIdx.x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
