"""Two tiles for each matrix, and their names are exchanged after each round."""

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


@cuda.jit
def product_double_buffered(a, b, c):
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    a_other = cuda.shared.array((DEPTH, PITCH), float32)
    b_other = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH
    clear(sums)
    inner = 0
    while inner < a.shape[1]:
        load_turned(a, first_row, inner, loaded)
        keep_turned(loaded, a_tile, 0)
        load(b, inner, first_column, loaded)
        keep(loaded, b_tile, 0)
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        a_tile, a_other = a_other, a_tile
        b_tile, b_other = b_other, b_tile
        inner += DEPTH
    store(sums, first_row, first_column, c)
