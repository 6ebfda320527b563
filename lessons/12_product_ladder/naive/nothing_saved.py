"""Right, and slow: a read per product, two barriers, neighbours far apart, c read again."""
# points: 6

from numba import cuda, float32

from kernels.products.double_buffered import TWO_ROUNDS
from kernels.products.epilogue import gelu
from kernels.products.tiles import (
    DEPTH,
    LOADS,
    PER_THREAD,
    PITCH,
    SIDE,
    WIDTH,
    clear,
    keep,
    load,
    number_at,
    store,
)


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    row, column = first + cuda.threadIdx.x, inner + cuda.threadIdx.y
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * SIDE, column)


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    for i in range(LOADS):
        tile[top + cuda.threadIdx.y, cuda.threadIdx.x + i * SIDE] = loaded[i]


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for begin in range(top, top + DEPTH, 4):
        for inner in range(begin, begin + 4):
            for i in range(PER_THREAD):
                for j in range(PER_THREAD):
                    sums[i, j] += a_tile[inner, y + i * SIDE] * b_tile[inner, x + j * SIDE]


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
        add_products(a_tile, b_tile, top, sums)
        cuda.syncthreads()
    store(sums, first_row, first_column, c)


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
    store(sums, first_row, first_column, c)
    for i in range(PER_THREAD):
        row = first_row + cuda.threadIdx.y + i * SIDE
        for j in range(PER_THREAD):
            column = first_column + cuda.threadIdx.x + j * SIDE
            if row < c.shape[0] and column < c.shape[1]:
                c[row, column] = gelu(c[row, column] + bias[column])
