"""Blocks of 32 x 8 and tiles to match."""

from numba import cuda, float32
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((8, 32), float32)
    b_tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], 32):
        a_tile[y, x] = (
            a[row, start + x] if row < a.shape[0] and start + x < a.shape[1] else float32(0)
        )
        for r in range(y, 32, 8):
            b_tile[r, x] = (
                b[start + r, column]
                if start + r < b.shape[0] and column < b.shape[1]
                else float32(0)
            )
        cuda.syncthreads()
        for i in range(32):
            total += a_tile[y, i] * b_tile[i, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def launch_matmul_tiled(a, b, c, launch=on_gpu):
    launch(matmul_tiled, (blocks_for(c.shape[1], 32), blocks_for(c.shape[0], 8)), (32, 8), a, b, c)
