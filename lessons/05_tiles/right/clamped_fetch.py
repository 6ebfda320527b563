"""Clamped indices in place of guards; the loop ends at the edge."""

from numba import cuda, float32
from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    b_tile = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    m, k = a.shape
    n = b.shape[1]
    total = float32(0)
    for tile in range((k + TILE - 1) // TILE):
        start = tile * TILE
        a_tile[y, x] = a[min(row, m - 1), min(start + x, k - 1)]
        b_tile[y, x] = b[min(start + y, k - 1), min(column, n - 1)]
        cuda.syncthreads()
        for i in range(min(TILE, k - start)):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if row < m and column < n:
        c[row, column] = total
