"""The line that fetches a tile of b was copied, and fetches that of a from b, too."""
# caught by: one_tile
# diagnosis: fetched from b, too

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        inside = start + y < b.shape[0] and column < b.shape[1]
        a_tile[y, x] = b[start + y, column] if inside else float32(0)
        b_tile[y, x] = b[start + y, column] if inside else float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
