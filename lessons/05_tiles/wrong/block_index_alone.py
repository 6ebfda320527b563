"""The number of the block is taken for that of the thread."""
# caught by: one_tile
# diagnosis: takes the number of the block, and that is the index here

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):

    column = cuda.blockIdx.x
    row = cuda.blockIdx.y
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    m, k = a.shape
    n = b.shape[1]
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    total = float32(0)
    for start in range(0, k, TILE):
        if row < m and start + x < k:
            a_tile[y, x] = a[row, start + x]
        else:
            a_tile[y, x] = float32(0)
        if start + y < k and column < n:
            b_tile[y, x] = b[start + y, column]
        else:
            b_tile[y, x] = float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if row < m and column < n:
        c[row, column] = total
