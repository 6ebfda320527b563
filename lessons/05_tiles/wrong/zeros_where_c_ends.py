"""Threads without an element of c fetch zeros."""
# caught by: one_tile
# diagnosis: have no element of c

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    m, n = c.shape
    k = a.shape[1]
    inside = row < m and col < n
    s = float32(0)
    rounds = (k + TILE - 1) // TILE
    for r in range(rounds):
        tile_a[i, j] = float32(0)
        tile_b[i, j] = float32(0)
        if inside:
            if r * TILE + j < k:
                tile_a[i, j] = a[row, r * TILE + j]
            if r * TILE + i < k:
                tile_b[i, j] = b[r * TILE + i, col]
        cuda.syncthreads()
        for t in range(TILE):
            s += tile_a[i, t] * tile_b[t, j]
        cuda.syncthreads()
    if inside:
        c[row, col] = s
