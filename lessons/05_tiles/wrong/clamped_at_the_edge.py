"""Beyond an edge the last row or column is fetched again, as in lesson 2, and not a zero."""
# caught by: one_tile
# diagnosis: last number again

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    column, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    safe_row = min(row, m - 1)
    safe_column = min(column, n - 1)
    total = float32(0)
    for start in range(0, k, TILE):
        a_tile[y, x] = a[safe_row, min(start + x, k - 1)]
        b_tile[y, x] = b[min(start + y, k - 1), safe_column]
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if row < m and column < n:
        c[row, column] = total
