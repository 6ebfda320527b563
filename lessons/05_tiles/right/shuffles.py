"""The row of a goes round in registers: shuffles within half warps; b in shared memory."""

from numba import cuda, float32, uint32


@cuda.jit
def matmul_tiled(a, b, c):
    b_tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    lane = (y * 16 + x) % 32
    half = lane // 16 * 16
    total = float32(0)
    for start in range(0, a.shape[1], 16):
        mine = float32(0)
        if row < a.shape[0] and start + x < a.shape[1]:
            mine = a[row, start + x]
        b_tile[y, x] = float32(0)
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for i in range(16):
            total += cuda.shfl_sync(0xFFFFFFFF, mine, half + i) * b_tile[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
