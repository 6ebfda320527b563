"""Fetching, with its barrier, is a device function; and cuda.fma adds."""

from numba import cuda, float32
from kernels.config import TILE


@cuda.jit(device=True)
def fetch(tile, matrix, row, column):
    y, x = cuda.threadIdx.y, cuda.threadIdx.x
    tile[y, x] = (
        matrix[row, column] if row < matrix.shape[0] and column < matrix.shape[1] else float32(0)
    )
    cuda.syncthreads()


@cuda.jit
def matmul_tiled(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        fetch(a_tile, a, row, start + x)
        fetch(b_tile, b, start + y, column)
        for i in range(TILE):
            total = cuda.fma(a_tile[y, i], b_tile[i, x], total)
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total = cuda.fma(a[row, i], b[i, column], total)
        c[row, column] = total
