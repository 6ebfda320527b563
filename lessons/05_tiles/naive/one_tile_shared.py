"""Only the tile of a is in shared memory; b is read from global memory all the time."""
# points: 8

from numba import cuda, float32
from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        a_tile[y, x] = float32(0)
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        cuda.syncthreads()
        if column < b.shape[1]:
            for i in range(min(TILE, a.shape[1] - start)):
                total += a_tile[y, i] * b[start + i, column]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
