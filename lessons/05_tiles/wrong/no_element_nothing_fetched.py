"""Threads without an element of c put zeros into both tiles."""
# caught by: one_tile
# diagnosis: threads that have no element of c fetch nothing

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    height, width = c.shape
    k = a.shape[1]
    mine = row < height and column < width
    total = float32(0)
    for start in range(0, k, TILE):
        if mine and start + x < k:
            a_tile[y, x] = a[row, start + x]
        else:
            a_tile[y, x] = float32(0)
        if mine and start + y < k:
            b_tile[y, x] = b[start + y, column]
        else:
            b_tile[y, x] = float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if mine:
        c[row, column] = total
