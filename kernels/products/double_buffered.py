"""A product with two pairs of tiles, and one barrier per round.

    a (m, k), b (k, n)  ->  c (m, n) = a @ b

The idea: with room for one round everybody waits twice, once for what is fetched and once before it
is overwritten. With room for two, the next round is stored where nobody reads, and the second
barrier is not needed. And what the next round needs is asked for before this round multiplies: it
arrives in registers while there is something to do, so nobody waits for global memory.

Source: Nath, Tomov and Dongarra, "An improved MAGMA GEMM for Fermi GPUs", 2010.
"""

from numba import cuda, float32

from kernels.launch import on_gpu
from kernels.products.tiles import (
    DEPTH,
    LOADS,
    PER_THREAD,
    PITCH,
    WIDTH,
    add_products,
    clear,
    keep,
    keep_turned,
    launch_over_parts,
    load,
    load_turned,
    store,
)

TWO_ROUNDS = 2 * DEPTH  # rows of both tiles


@cuda.jit
def product_double_buffered(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of SIDE x SIDE threads; any sizes."""
    a_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    b_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    a_loaded = cuda.local.array(LOADS, float32)
    b_loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    load_turned(a, first_row, 0, a_loaded)
    load(b, 0, first_column, b_loaded)
    for inner in range(0, a.shape[1], DEPTH):
        # The upper half of the tiles and the lower half, in turn. Nobody reads this half now:
        # whoever is here has passed the barrier of the last round, and so everybody had finished
        # with the round before that.
        top = inner % TWO_ROUNDS
        keep_turned(a_loaded, a_tile, top)
        keep(b_loaded, b_tile, top)
        cuda.syncthreads()
        # These arrive while we multiply. After the last round they are zeros that nobody uses.
        load_turned(a, first_row, inner + DEPTH, a_loaded)
        load(b, inner + DEPTH, first_column, b_loaded)
        add_products(a_tile, b_tile, top, sums)
    store(sums, first_row, first_column, c)


def launch_product_double_buffered(a, b, c, launch=on_gpu):
    launch_over_parts(product_double_buffered, c, (a, b, c), launch)
