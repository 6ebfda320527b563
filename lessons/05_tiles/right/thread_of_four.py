"""Blocks of 16 x 4, each thread makes four elements of a column."""

from numba import cuda, float32
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    totals = cuda.local.array(4, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * 16 + x
    first_row = cuda.blockIdx.y * 16
    for r in range(4):
        totals[r] = float32(0)
    for start in range(0, a.shape[1], 16):
        for r in range(y, 16, 4):
            a_tile[r, x] = float32(0)
            if first_row + r < a.shape[0] and start + x < a.shape[1]:
                a_tile[r, x] = a[first_row + r, start + x]
            b_tile[r, x] = float32(0)
            if start + r < b.shape[0] and column < b.shape[1]:
                b_tile[r, x] = b[start + r, column]
        cuda.syncthreads()
        for i in range(16):
            value = b_tile[i, x]
            for r in range(4):
                totals[r] += a_tile[y + 4 * r, i] * value
        cuda.syncthreads()
    for r in range(4):
        row = first_row + y + 4 * r
        if row < c.shape[0] and column < c.shape[1]:
            c[row, column] = totals[r]


def launch_matmul_tiled(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], 16), blocks_for(c.shape[0], 16)
    launch(matmul_tiled, blocks, (16, 4), a, b, c)
