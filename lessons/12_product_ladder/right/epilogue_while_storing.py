"""The kernel stores by itself, and finishes each number on its way."""

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
)


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    for i in range(PER_THREAD):
        for j in range(PER_THREAD):
            column = first_column + cuda.threadIdx.x + j * SIDE
            number = bias[column] if column < bias.shape[0] else float32(0)
            sums[i, j] = gelu(sums[i, j] + number)


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
    for j in range(PER_THREAD):
        column = first_column + cuda.threadIdx.x + j * SIDE
        if column < c.shape[1]:
            for i in range(PER_THREAD):
                row = first_row + cuda.threadIdx.y + i * SIDE
                if row < c.shape[0]:
                    c[row, column] = gelu(sums[i, j] + bias[column])
