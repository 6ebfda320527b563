"""Tiles are stored in rows of 17 words and read in rows of 16."""
# caught by: one_tile
# diagnosis: is it stored at other places

from numba import cuda, float32

from kernels.config import TILE

PITCH = TILE + 1

WORDS = TILE * PITCH


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array(WORDS, float32)
    b_tile = cuda.shared.array(WORDS, float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    mine = y * PITCH + x
    k = a.shape[1]
    total = float32(0)
    for tile in range((k + TILE - 1) // TILE):
        from_a = tile * TILE + x
        from_b = tile * TILE + y
        a_tile[mine] = float32(0)
        b_tile[mine] = float32(0)
        if row < a.shape[0] and from_a < k:
            a_tile[mine] = a[row, from_a]
        if column < b.shape[1] and from_b < k:
            b_tile[mine] = b[from_b, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y * TILE + i] * b_tile[i * TILE + x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
