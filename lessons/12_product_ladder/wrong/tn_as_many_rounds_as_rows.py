"""The loop ends with the columns of a, which are the rows of c."""
# caught by: transposed
# diagnosis: as many rounds as c has rows

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
    load,
    store,
)


@cuda.jit
def product_tn(a, b, c):
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[1], DEPTH):
        load(a, inner, first_row, loaded)
        keep(loaded, a_tile, 0)
        load(b, inner, first_column, loaded)
        keep(loaded, b_tile, 0)
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        cuda.syncthreads()
    store(sums, first_row, first_column, c)
