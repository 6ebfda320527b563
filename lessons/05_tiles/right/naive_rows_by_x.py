"""x counts rows: slower, and right."""

from numba import cuda, float32
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def matmul_naive(a, b, c):
    row, column = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = float32(0)
    i = 0
    while i < a.shape[1]:
        total += a[row, i] * b[i, column]
        i += 1
    c[row, column] = total


def launch_matmul_naive(a, b, c, launch=on_gpu):
    launch(matmul_naive, (blocks_for(c.shape[0], 8), blocks_for(c.shape[1], 32)), (8, 32), a, b, c)
