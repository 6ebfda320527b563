"""Only the blocks at the left fetch a, as if shared memory belonged to all blocks of a row."""
# caught by: many_tiles
# diagnosis: zero in a part

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of TILE x TILE threads; any sizes."""
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col = cuda.blockIdx.x * TILE + tx
    row = cuda.blockIdx.y * TILE + ty
    acc = float32(0)
    for start in range(0, a.shape[1], TILE):
        sa[ty, tx] = float32(0)
        sb[ty, tx] = float32(0)
        if row < a.shape[0] and start + tx < a.shape[1] and cuda.blockIdx.x == 0:
            sa[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and col < b.shape[1]:
            sb[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for j in range(TILE):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = acc
