"""The tile of b is stored with its indices exchanged, and read as if it were not."""
# caught by: one_tile
# diagnosis: or where its tile is stored or read

from numba import cuda, float32

from kernels.config import TILE


@cuda.jit
def matmul_tiled(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    depth = a.shape[1]
    result = float32(0)
    start = 0
    while start < depth:
        left_value = float32(0)
        right_value = float32(0)
        if i < a.shape[0] and start + x < depth:
            left_value = a[i, start + x]
        if start + y < depth and j < b.shape[1]:
            right_value = b[start + y, j]
        left[y, x] = left_value
        right[x, y] = right_value
        cuda.syncthreads()
        for s in range(TILE):
            result += left[y, s] * right[s, x]
        cuda.syncthreads()
        start += TILE
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = result
