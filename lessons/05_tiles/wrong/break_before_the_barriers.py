"""Threads whose column of a is beyond the end leave the loop by a break, before its barriers."""
# caught by: one_tile
# diagnosis: in place of the `break`

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
        if start + tx >= a.shape[1]:
            break
        sa[ty, tx] = float32(0)
        sb[ty, tx] = float32(0)
        if row < a.shape[0] and start + tx < a.shape[1]:
            sa[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and col < b.shape[1]:
            sb[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for j in range(TILE):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = acc
