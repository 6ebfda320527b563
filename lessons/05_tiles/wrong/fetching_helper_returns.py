"""The helper that fetches returns in threads that have no element of c."""
# caught by: one_tile
# diagnosis: uninitialised

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


@register_jitable
def fetch_tiles(a, b, a_tile, b_tile, row, column, start):
    if row >= a.shape[0] or column >= b.shape[1]:
        return
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    a_tile[y, x] = float32(0)
    b_tile[y, x] = float32(0)
    if start + x < a.shape[1]:
        a_tile[y, x] = a[row, start + x]
    if start + y < b.shape[0]:
        b_tile[y, x] = b[start + y, column]


@register_jitable
def multiply_tiles(a_tile, b_tile, total):
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    for i in range(TILE):
        total += a_tile[y, i] * b_tile[i, x]
    return total


@cuda.jit
def matmul_naive(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; one thread per element of c; any sizes."""
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = float32(0)
    for i in range(b.shape[0]):
        total += a[row, i] * b[i, column]
    c[row, column] = total


@cuda.jit
def matmul_tiled(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of TILE x TILE threads; any sizes."""
    column, row = cuda.grid(2)
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        fetch_tiles(a, b, a_tile, b_tile, row, column, start)
        cuda.syncthreads()
        total = multiply_tiles(a_tile, b_tile, total)
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def launch_matmul_naive(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_naive, a, b, c, launch)


def launch_matmul_tiled(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_tiled, a, b, c, launch)


def launch_over_elements(kernel, a, b, c, launch):
    blocks = blocks_for(c.shape[1], TILE), blocks_for(c.shape[0], TILE)
    launch(kernel, blocks, (TILE, TILE), a, b, c)
