"""The products are taken from the half that is stored next."""
# caught by: double_buffered
# diagnosis: uninitialised

from numba import cuda, float32

from kernels.products.double_buffered import TWO_ROUNDS
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


@cuda.jit
def product_double_buffered(a, b, c):
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
        top = inner % TWO_ROUNDS
        keep_turned(a_loaded, a_tile, top)
        keep(b_loaded, b_tile, top)
        cuda.syncthreads()
        load_turned(a, first_row, inner + DEPTH, a_loaded)
        load(b, inner + DEPTH, first_column, b_loaded)
        add_products(a_tile, b_tile, DEPTH - top, sums)
    store(sums, first_row, first_column, c)
