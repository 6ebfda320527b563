"""The bias is that of the row."""
# caught by: epilogue
# diagnosis: bias by row

from numba import cuda, float32

from kernels.products.epilogue import gelu
from kernels.products.tiles import (
    DEPTH,
    LOADS,
    PER_THREAD,
    PITCH,
    SIDE,
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
def add_bias_and_activate(sums, bias, first_row):
    for i in range(PER_THREAD):
        row = first_row + cuda.threadIdx.y + i * SIDE
        if row < bias.shape[0]:
            for j in range(PER_THREAD):
                sums[i, j] = gelu(sums[i, j] + bias[row])


@cuda.jit
def product_bias_gelu(a, b, bias, c):
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[1], DEPTH):
        load_turned(a, first_row, inner, loaded)
        keep_turned(loaded, a_tile, 0)
        load(b, inner, first_column, loaded)
        keep(loaded, b_tile, 0)
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        cuda.syncthreads()
    add_bias_and_activate(sums, bias, first_row)
    store(sums, first_row, first_column, c)
