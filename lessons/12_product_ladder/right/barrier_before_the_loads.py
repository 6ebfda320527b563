"""The first tiles are stored before the loop, the next at the end of each round."""

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
    a_next = cuda.local.array(LOADS, float32)
    b_next = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH
    clear(sums)
    load_turned(a, first_row, 0, a_next)
    load(b, 0, first_column, b_next)
    keep_turned(a_next, a_tile, 0)
    keep(b_next, b_tile, 0)
    cuda.syncthreads()
    top = 0
    for inner in range(DEPTH, a.shape[1], DEPTH):
        load_turned(a, first_row, inner, a_next)
        load(b, inner, first_column, b_next)
        add_products(a_tile, b_tile, top, sums)
        top = DEPTH - top
        keep_turned(a_next, a_tile, top)
        keep(b_next, b_tile, top)
        cuda.syncthreads()
    add_products(a_tile, b_tile, top, sums)
    store(sums, first_row, first_column, c)
