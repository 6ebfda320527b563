"""a and b are loaded into the same array, so b takes the place of a."""
# caught by: double_buffered
# diagnosis: b in the place of a

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
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    load_turned(a, first_row, 0, loaded)
    load(b, 0, first_column, loaded)
    for inner in range(0, a.shape[1], DEPTH):
        top = inner % TWO_ROUNDS
        keep_turned(loaded, a_tile, top)
        keep(loaded, b_tile, top)
        cuda.syncthreads()
        load_turned(a, first_row, inner + DEPTH, loaded)
        load(b, inner + DEPTH, first_column, loaded)
        add_products(a_tile, b_tile, top, sums)
    store(sums, first_row, first_column, c)
