"""Zeros are put in the first round only, later the last round's numbers stay."""
# caught by: many_tiles
# diagnosis: numbers of the round before

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
        if start == 0:
            a_tile[y, x] = float32(0)
            b_tile[y, x] = float32(0)
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()

    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
