"""The sum of a round is not set to zero, and so counts again in each later round."""
# caught by: many_tiles
# diagnosis: sum of a round goes on

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    depth = a.shape[1]
    total = float32(0)
    part = float32(0)
    done = 0
    while done < depth:
        inside = row < a.shape[0] and done + x < depth
        left[y, x] = a[row, done + x] if inside else float32(0)
        inside = done + y < depth and column < b.shape[1]
        right[y, x] = b[done + y, column] if inside else float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            part += left[y, i] * right[i, x]
        total += part
        cuda.syncthreads()
        done += TILE
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
