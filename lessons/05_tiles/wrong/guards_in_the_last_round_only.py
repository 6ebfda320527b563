"""Full rounds have no guards, but rows of a and columns of b end there, too."""
# caught by: many_tiles
# diagnosis: out-of-bounds

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    k = a.shape[1]
    full = k // TILE * TILE

    total = float32(0)
    # Full rounds need no guards: everything is inside.
    for start in range(0, full, TILE):
        a_tile[y, x] = a[row, start + x]
        b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()

    # What is left, with guards.
    if full < k:
        inside_a = row < a.shape[0] and full + x < k
        inside_b = column < b.shape[1] and full + y < k
        a_tile[y, x] = a[row, full + x] if inside_a else float32(0)
        b_tile[y, x] = b[full + y, column] if inside_b else float32(0)
        cuda.syncthreads()
        for i in range(k - full):
            total += a_tile[y, i] * b_tile[i, x]

    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
