"""Lesson 5: tiles. A matrix product, first simple, then with shared memory.

Write `matmul_naive` and `matmul_tiled`; the story is in README.md beside this file.

    a (m, k), b (k, n)  ->  c (m, n) = a @ b

Check your work with `python -m lessons check 5`.
"""

from numba import cuda, float32

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


@cuda.jit
def matmul_naive(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; one thread per element of c; any sizes."""
    raise NotImplementedError("write me")


@cuda.jit
def matmul_tiled(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of TILE x TILE threads; any sizes."""
    # x counts columns: the threads of a warp then read neighbouring elements of b and write
    # neighbouring elements of c, and shared memory has no bank conflicts.

    # No thread may leave early, even one with no element of c: its block needs it to fetch a part
    # of the tiles, and to arrive at the barriers.

    # Zeros beyond the edges of a and b add nothing to a sum, so the loop below needs no guard.

    # Both tiles have to be complete before anyone reads what others have fetched.

    # And everyone must have read before the next round overwrites them.
    raise NotImplementedError("write me")


def launch_matmul_naive(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_naive, a, b, c, launch)


def launch_matmul_tiled(a, b, c, launch=on_gpu):
    launch_over_elements(matmul_tiled, a, b, c, launch)


def launch_over_elements(kernel, a, b, c, launch):
    blocks = blocks_for(c.shape[1], TILE), blocks_for(c.shape[0], TILE)
    launch(kernel, blocks, (TILE, TILE), a, b, c)
