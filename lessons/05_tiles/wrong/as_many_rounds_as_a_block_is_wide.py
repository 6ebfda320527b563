"""There are as many rounds as a block is wide, sixteen: enough for 256 products."""
# caught by: many_tiles
# diagnosis: Only 16 tiles are summed

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import TILE


@register_jitable
def at(matrix, i, j):
    if i < matrix.shape[0] and j < matrix.shape[1]:
        return matrix[i, j]
    return float32(0)


@cuda.jit
def matmul_tiled(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col = cuda.blockIdx.x * TILE + tx
    row = cuda.blockIdx.y * TILE + ty
    acc = float32(0)
    tiles_in_a_row = cuda.blockDim.x
    for r in range(tiles_in_a_row):
        left[ty, tx] = at(a, row, r * TILE + tx)
        right[ty, tx] = at(b, r * TILE + ty, col)
        cuda.syncthreads()
        for q in range(TILE):
            acc += left[ty, q] * right[q, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = acc
