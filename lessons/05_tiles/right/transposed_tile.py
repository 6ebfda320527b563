"""The tile of a is stored transposed, with a pitch of 17."""

from numba import cuda, float32


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((16, 17), float32)
    b_tile = cuda.shared.array((16, 17), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], 16):
        a_tile[x, y] = float32(0)
        b_tile[y, x] = float32(0)
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[x, y] = a[row, start + x]
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for i in range(16):
            total += a_tile[i, y] * b_tile[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
