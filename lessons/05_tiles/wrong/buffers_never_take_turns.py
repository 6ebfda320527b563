"""Two buffers should take turns; start is a multiple of 16, and start % 2 is always 0."""
# caught by: many_tiles
# diagnosis: race

from numba import cuda, float32

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def matmul_naive(a, b, c):
    j, i = cuda.grid(2)
    m, n = c.shape
    if not (i < m and j < n):
        return
    s = float32(0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@cuda.jit
def matmul_tiled(a, b, c):
    a_tiles = cuda.shared.array((2, TILE, TILE), float32)
    b_tiles = cuda.shared.array((2, TILE, TILE), float32)
    j, i = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    m, n = c.shape
    depth = b.shape[0]

    s = float32(0)
    for start in range(0, depth, TILE):
        # two buffers: the next round does not touch what is still read in this one
        now = start % 2
        if i < m and start + x < depth:
            a_tiles[now, y, x] = a[i, start + x]
        else:
            a_tiles[now, y, x] = float32(0)
        if j < n and start + y < depth:
            b_tiles[now, y, x] = b[start + y, j]
        else:
            b_tiles[now, y, x] = float32(0)
        cuda.syncthreads()
        for k in range(TILE):
            s += a_tiles[now, y, k] * b_tiles[now, k, x]

    if i < m and j < n:
        c[i, j] = s


def launch_matmul_naive(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_naive, a, b, c, launch)


def launch_matmul_tiled(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_tiled, a, b, c, launch)


def launch_over_elements(kernel, a, b, c, launch):
    blocks = blocks_for(c.shape[1], TILE), blocks_for(c.shape[0], TILE)
    launch(kernel, blocks, (TILE, TILE), a, b, c)
