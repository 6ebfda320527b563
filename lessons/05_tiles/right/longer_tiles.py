"""Tiles of 16 x 32: two numbers of each per thread and round."""

from numba import cuda, float32


T, K = 16, 32


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((T, K), float32)
    b_tile = cuda.shared.array((K, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    m, k = a.shape
    n = b.shape[1]
    total = float32(0)
    for start in range(0, k, K):
        for half in range(0, K, T):
            inside = row < m and start + half + x < k
            a_tile[y, half + x] = a[row, start + half + x] if inside else float32(0)
            inside = start + half + y < k and column < n
            b_tile[half + y, x] = b[start + half + y, column] if inside else float32(0)
        cuda.syncthreads()
        for i in range(K):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if row < m and column < n:
        c[row, column] = total
