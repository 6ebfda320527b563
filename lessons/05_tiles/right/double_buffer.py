"""Two buffers, one barrier per round."""

from numba import cuda, float32
from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    buffer = 0
    for start in range(0, a.shape[1], TILE):
        a_tile[buffer, y, x] = (
            a[row, start + x] if row < a.shape[0] and start + x < a.shape[1] else float32(0)
        )
        b_tile[buffer, y, x] = (
            b[start + y, column] if start + y < b.shape[0] and column < b.shape[1] else float32(0)
        )
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[buffer, y, i] * b_tile[buffer, i, x]
        buffer = 1 - buffer
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
