"""A thread for each number of a adds its products to a row of c, as others do at the same time."""
# caught by: naive
# diagnosis: race

from numba import cuda, float32

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def matmul_naive(a, b, c):
    k, i = cuda.grid(2)
    if i >= a.shape[0] or k >= a.shape[1]:
        return
    factor = a[i, k]
    for j in range(b.shape[1]):
        c[i, j] += factor * b[k, j]


@cuda.jit
def matmul_tiled(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    i = cuda.blockIdx.y * TILE + ty
    j = cuda.blockIdx.x * TILE + tx
    rounds = (a.shape[1] + TILE - 1) // TILE
    result = float32(0)
    for r in range(rounds):
        k = r * TILE
        left[ty, tx] = float32(0)
        right[ty, tx] = float32(0)
        if i < a.shape[0] and k + tx < a.shape[1]:
            left[ty, tx] = a[i, k + tx]
        if k + ty < b.shape[0] and j < b.shape[1]:
            right[ty, tx] = b[k + ty, j]
        cuda.syncthreads()
        for q in range(TILE):
            result += left[ty, q] * right[q, tx]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = result


def launch_matmul_naive(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_naive, a, b, c, launch)


def launch_matmul_tiled(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_tiled, a, b, c, launch)


def launch_over_elements(kernel, a, b, c, launch):
    blocks = blocks_for(c.shape[1], TILE), blocks_for(c.shape[0], TILE)
    launch(kernel, blocks, (TILE, TILE), a, b, c)
