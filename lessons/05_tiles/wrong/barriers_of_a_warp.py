"""The barriers hold a warp together, and eight warps fetch a tile."""
# caught by: one_tile
# diagnosis: holds the 32 threads of a warp together

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    m, k = a.shape
    n = b.shape[1]
    total = float32(0)
    for start in range(0, k, TILE):
        if row < m and start + x < k:
            tile_a[y, x] = a[row, start + x]
        else:
            tile_a[y, x] = float32(0)
        if start + y < k and column < n:
            tile_b[y, x] = b[start + y, column]
        else:
            tile_b[y, x] = float32(0)
        cuda.syncwarp()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncwarp()
    if column < n and row < m:
        c[row, column] = total
