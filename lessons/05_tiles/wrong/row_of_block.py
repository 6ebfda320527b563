"""The row of a is that of the block's first thread."""
# caught by: one_tile
# diagnosis: of another index

from numba import cuda, float32

from kernels.config import TILE

PADDED = TILE + 1


@cuda.jit
def matmul_tiled(a, b, c):
    ta = cuda.shared.array((TILE, PADDED), float32)
    tb = cuda.shared.array((TILE, PADDED), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    j = cuda.blockIdx.x * TILE + tx
    i = cuda.blockIdx.y * TILE + ty
    m, depth = a.shape
    n = b.shape[1]
    rounds = (depth + TILE - 1) // TILE
    s = float32(0)
    for r in range(rounds):
        ka = r * TILE + tx
        kb = r * TILE + ty
        ta[tx, ty] = a[cuda.blockIdx.y * TILE, ka] if i < m and ka < depth else float32(0)
        tb[ty, tx] = b[kb, j] if kb < depth and j < n else float32(0)
        cuda.syncthreads()
        for k in range(TILE):
            s += ta[k, ty] * tb[k, tx]
        cuda.syncthreads()
    if i < m and j < n:
        c[i, j] = s
