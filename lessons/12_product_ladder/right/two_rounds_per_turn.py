"""The loop is written out for two rounds, each with tiles of its own."""

from numba import cuda, float32

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
    load,
    load_turned,
    store,
)


@cuda.jit(device=True)
def one_round(a, b, first_row, first_column, inner, a_tile, b_tile, loaded, sums):
    load_turned(a, first_row, inner, loaded)
    keep_turned(loaded, a_tile, 0)
    load(b, inner, first_column, loaded)
    keep(loaded, b_tile, 0)
    cuda.syncthreads()
    add_products(a_tile, b_tile, 0, sums)


@cuda.jit
def product_double_buffered(a, b, c):
    a_even = cuda.shared.array((DEPTH, PITCH), float32)
    b_even = cuda.shared.array((DEPTH, PITCH), float32)
    a_odd = cuda.shared.array((DEPTH, PITCH), float32)
    b_odd = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    row, column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH
    clear(sums)
    for inner in range(0, a.shape[1], 2 * DEPTH):
        one_round(a, b, row, column, inner, a_even, b_even, loaded, sums)
        if inner + DEPTH < a.shape[1]:
            one_round(a, b, row, column, inner + DEPTH, a_odd, b_odd, loaded, sums)
    store(sums, row, column, c)
