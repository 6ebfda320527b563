"""The products of transposed matrices, with room for two rounds."""

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
def product_nt(a, b, c):
    a_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    b_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH
    clear(sums)
    for inner in range(0, b.shape[1], DEPTH):
        top = inner % TWO_ROUNDS
        load_turned(a, first_row, inner, loaded)
        keep_turned(loaded, a_tile, top)
        load_turned(b, first_column, inner, loaded)
        keep_turned(loaded, b_tile, top)
        cuda.syncthreads()
        add_products(a_tile, b_tile, top, sums)
    store(sums, first_row, first_column, c)


@cuda.jit
def product_tn(a, b, c):
    a_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    b_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH
    clear(sums)
    for inner in range(0, b.shape[0], DEPTH):
        top = inner % TWO_ROUNDS
        load(a, inner, first_row, loaded)
        keep(loaded, a_tile, top)
        load(b, inner, first_column, loaded)
        keep(loaded, b_tile, top)
        cuda.syncthreads()
        add_products(a_tile, b_tile, top, sums)
    store(sums, first_row, first_column, c)
