"""Products of matrices that are stored the other way round.

    nt   a (m, k), b (n, k)  ->  c (m, n) = a @ b.T
    tn   a (k, m), b (k, n)  ->  c (m, n) = a.T @ b

The idea: going back through a layer needs both: the gradient of its inputs is delta @ weights.T,
that of its weights inputs.T @ delta. No matrix has to be transposed for that. Whoever fetches a
tile reads it along the rows of memory, as ever, and turns it while storing it, or does not; from
there on all products are the same.

Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008, whose
packing does the same for the caches of a CPU.
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


@cuda.jit
def product_nt(a, b, c):
    """c (m, n) = a (m, k) @ b.T, with b (n, k), all float32; any sizes."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[1], DEPTH):
        load_turned(a, first_row, inner, loaded)
        keep_turned(loaded, a_tile, 0)
        load_turned(b, first_column, inner, loaded)
        keep_turned(loaded, b_tile, 0)
        # Both barriers as in `product_registers`: complete before it is read ...
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        # ... and read before it is overwritten.
        cuda.syncthreads()
    store(sums, first_row, first_column, c)


@cuda.jit
def product_tn(a, b, c):
    """c (m, n) = a.T @ b (k, n), with a (k, m), all float32; any sizes."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[0], DEPTH):
        load(a, inner, first_row, loaded)
        keep(loaded, a_tile, 0)
        load(b, inner, first_column, loaded)
        keep(loaded, b_tile, 0)
        # Both barriers as in `product_registers`: complete before it is read ...
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        # ... and read before it is overwritten.
        cuda.syncthreads()
    store(sums, first_row, first_column, c)


def launch_product_nt(a, b, c, launch=on_gpu):
    launch_over_parts(product_nt, c, (a, b, c), launch)


def launch_product_tn(a, b, c, launch=on_gpu):
    launch_over_parts(product_tn, c, (a, b, c), launch)
