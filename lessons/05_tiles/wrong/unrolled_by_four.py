"""The loop is unrolled by four, and the fourth product is missing."""
# caught by: one_tile
# diagnosis: 3, 7, 11, 15

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        a_tile[y, x] = (
            a[row, start + x] if row < a.shape[0] and start + x < a.shape[1] else float32(0)
        )
        b_tile[y, x] = (
            b[start + y, column] if start + y < b.shape[0] and column < b.shape[1] else float32(0)
        )
        cuda.syncthreads()
        for i in range(0, TILE, 4):
            total += a_tile[y, i] * b_tile[i, x]
            total += a_tile[y, i + 1] * b_tile[i + 1, x]
            total += a_tile[y, i + 2] * b_tile[i + 2, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
