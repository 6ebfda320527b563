"""Matrix products: one thread per element, first without and then with shared memory.

    a (m, k), b (k, n)  ->  c (m, n) = a @ b

The idea: an element of c is the product of a row of a and a column of b. Neighbouring elements
need the same rows and columns, so the naive kernel reads every number of `a` n times, and every
number of `b` m times. The tiled kernel lets a block of 16 x 16 threads fetch a tile of each into
shared memory once, and use it sixteen times. The network's layers are such products: the fused
network (`mlp_forward`) has the same loops, and adds what comes before and after.

Source: Kirk and Hwu, "Programming Massively Parallel Processors", chapter on memory and tiling.
"""

from numba import cuda, float32

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def matmul_naive(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; one thread per element of c; any sizes."""
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return

    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, column]
    c[row, column] = total


@cuda.jit
def matmul_tiled(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of TILE x TILE threads; any sizes."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    # x counts columns: the threads of a warp then read neighbouring elements of b and write
    # neighbouring elements of c, and shared memory has no bank conflicts.
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)

    # No thread may leave early, even one with no element of c: its block needs it to fetch a part
    # of the tiles, and to arrive at the barriers.
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        # Zeros beyond the edges of a and b add nothing to a sum, so the loop below needs no guard.
        a_tile[y, x] = float32(0)
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        b_tile[y, x] = float32(0)
        if start + y < b.shape[0] and column < b.shape[1]:
            b_tile[y, x] = b[start + y, column]
        # Both tiles have to be complete before anyone reads what others have fetched.
        cuda.syncthreads()
        for i in range(TILE):
            total += a_tile[y, i] * b_tile[i, x]
        # And everyone must have read before the next round overwrites them.
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
