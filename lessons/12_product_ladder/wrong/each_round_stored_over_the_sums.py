"""A round adds up in an array of its own, and stores that over the sums."""
# caught by: tensor_cores
# diagnosis: last round only

import math

from numba import cuda, float32, uint32
from numba.extending import register_jitable

from kernels.config import WARP
from kernels.fast.ptx import multiply_halves
from kernels.fast.ptx_copy import wait_for_copies
from kernels.launch import blocks_for, on_gpu
from kernels.products.double_buffered import TWO_ROUNDS
from kernels.products.epilogue import CUBE, SLOPE
from kernels.products.tensor_cores import (
    ACROSS,
    COLUMN_TILES,
    PART,
    ROW_TILES,
    ROW_WORDS,
    THREADS,
    TILE_ROWS,
    WARP_COLUMNS,
    WARP_ROWS,
    WORDS,
    begin_copies,
    clear_fragments,
    store_fragments,
)
from kernels.products.tiles import (
    DEPTH,
    LOADS,
    PER_THREAD,
    PITCH,
    ROWS_AT_ONCE,
    SIDE,
    WIDTH,
    clear,
    launch_over_parts,
    number_at,
    store,
)


@cuda.jit(device=True)
def load(matrix, inner, first, loaded):
    """Read this thread's part of a tile, whose rows are rows of `matrix`; zeros outside.

    inner, first: the row and the column of `matrix` where the tile begins. loaded: LOADS float32 of
    the thread's own. Neighbouring threads read neighbouring numbers.
    """
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    row, column = inner + thread // WIDTH, first + thread % WIDTH
    for i in range(LOADS):
        loaded[i] = number_at(matrix, row + i * ROWS_AT_ONCE, column)


@cuda.jit(device=True)
def keep(loaded, tile, top):
    """Store what `load` has read in tile (any, PITCH): its rows `top` to `top` + DEPTH."""
    thread = cuda.threadIdx.y * SIDE + cuda.threadIdx.x
    for i in range(LOADS):
        tile[top + thread // WIDTH + i * ROWS_AT_ONCE, thread % WIDTH] = loaded[i]


@cuda.jit(device=True)
def load_turned(matrix, first, inner, loaded):
    """Read this thread's part of a tile, whose rows are columns of `matrix`; zeros outside.

    first, inner: the row and the column of `matrix` where the tile begins, as in `load`: first the
    row. But here the inner index is the column. loaded: as there; neighbours read neighbours.
    """
    for i in range(LOADS):
        loaded[i] = number_at(matrix, first + cuda.threadIdx.y + SIDE * i, inner + cuda.threadIdx.x)


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    """Store what `load_turned` has read, in the same way: turned, so that rows become columns."""
    for i in range(LOADS):
        tile[top + cuda.threadIdx.x, cuda.threadIdx.y + SIDE * i] = loaded[i]


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    """Add to sums (PER_THREAD, PER_THREAD) the products of one round.

    a_tile, b_tile: (any, PITCH), of which the rows `top` to `top` + DEPTH belong to this round.
    Thread (x, y) has the rows y, y + SIDE, ... of the block's part of c, and the columns x,
    x + SIDE, ...
    """
    column_of_a = cuda.local.array(PER_THREAD, float32)
    for k in range(top, top + DEPTH):
        for i in range(PER_THREAD):
            column_of_a[i] = a_tile[k, cuda.threadIdx.y + SIDE * i]
        for j in range(PER_THREAD):
            number = b_tile[k, cuda.threadIdx.x + SIDE * j]
            for i in range(PER_THREAD):
                sums[i, j] += column_of_a[i] * number


@cuda.jit
def product_registers(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of SIDE x SIDE threads; any sizes."""
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
        # Both tiles have to be complete before anyone reads what others have fetched.
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        # And everyone must have read before the next round overwrites them.
        cuda.syncthreads()
    store(sums, first_row, first_column, c)


def launch_product_registers(a, b, c, launch=on_gpu):
    launch_over_parts(product_registers, c, (a, b, c), launch)


@cuda.jit
def product_double_buffered(a, b, c):
    """c (m, n) = a (m, k) @ b (k, n), all float32; blocks of SIDE x SIDE threads; any sizes."""
    a_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    b_tile = cuda.shared.array((TWO_ROUNDS, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    a_loaded = cuda.local.array(LOADS, float32)
    b_loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    load_turned(a, first_row, 0, a_loaded)
    load(b, 0, first_column, b_loaded)
    top = 0
    for inner in range(0, a.shape[1], DEPTH):
        keep_turned(a_loaded, a_tile, top)
        keep(b_loaded, b_tile, top)
        cuda.syncthreads()
        load_turned(a, first_row, inner + DEPTH, a_loaded)
        load(b, inner + DEPTH, first_column, b_loaded)
        add_products(a_tile, b_tile, top, sums)
        top = DEPTH - top
    store(sums, first_row, first_column, c)


def launch_product_double_buffered(a, b, c, launch=on_gpu):
    launch_over_parts(product_double_buffered, c, (a, b, c), launch)


@cuda.jit
def product_nt(a, b, c):
    """c (m, n) = a (m, k) @ b.T, with b (n, k), all float32; any sizes."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[1], DEPTH):
        load_turned(a, first_row, inner, loaded)
        keep_turned(loaded, a_tile, 0)
        load_turned(b, first_column, inner, loaded)
        keep_turned(loaded, b_tile, 0)
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        cuda.syncthreads()
    store(sums, first_row, first_column, c)


@cuda.jit
def product_tn(a, b, c):
    """c (m, n) = a.T @ b (k, n), with a (k, m), all float32; any sizes."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, PITCH), float32)
    sums = cuda.local.array((PER_THREAD, PER_THREAD), float32)
    loaded = cuda.local.array(LOADS, float32)
    first_row, first_column = cuda.blockIdx.y * WIDTH, cuda.blockIdx.x * WIDTH

    clear(sums)
    for inner in range(0, a.shape[0], DEPTH):
        load(a, inner, first_row, loaded)
        keep(loaded, a_tile, 0)
        load(b, inner, first_column, loaded)
        keep(loaded, b_tile, 0)
        cuda.syncthreads()
        add_products(a_tile, b_tile, 0, sums)
        cuda.syncthreads()
    store(sums, first_row, first_column, c)


def launch_product_nt(a, b, c, launch=on_gpu):
    launch_over_parts(product_nt, c, (a, b, c), launch)


def launch_product_tn(a, b, c, launch=on_gpu):
    launch_over_parts(product_tn, c, (a, b, c), launch)


@register_jitable
def gelu(x):
    """x / 2 * (1 + tanh(SLOPE * (x + CUBE * x^3))), all of it float32.

    That is about x times the probability that a normal random number is below x. SLOPE and CUBE are
    Python's floats: doubles to Numba.
    """
    inside = float32(SLOPE) * (x + float32(CUBE) * x * x * x)
    return x * float32(0.5) * (float32(1) + math.tanh(inside))


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    """sums = gelu(sums + bias), in registers. first_column: of the block's part of c."""
    n = bias.shape[0]
    for i in range(PER_THREAD):
        for j in range(PER_THREAD):
            column = first_column + cuda.threadIdx.x + SIDE * j
            if column < n:
                sums[i, j] = gelu(sums[i, j] + bias[column])


@cuda.jit
def product_bias_gelu(a, b, bias, c):
    """c (m, n) = gelu(a (m, k) @ b (k, n) + bias (n,)), all float32; any sizes."""
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
    add_bias_and_activate(sums, bias, first_column)
    store(sums, first_row, first_column, c)


def launch_product_bias_gelu(a, b, bias, c, launch=on_gpu):
    launch_over_parts(product_bias_gelu, c, (a, b, bias, c), launch)


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    """Add to sums (ROW_TILES, COLUMN_TILES, 4) the warp's products of one round.

    a_tile, b_tile: (any, ROW_WORDS) uint32; their rows are rows and columns of c, and the inner
    index goes along their words: WORDS of them in a round, eight per instruction. first_row,
    first_column: the rows of a_tile and of b_tile where those of the warp begin. sums[i, j]: the
    lane's four sums of the piece i of 16 rows, and j of 8 columns.
    """
    group = cuda.threadIdx.x % WARP // 4
    place = cuda.threadIdx.x % 4
    a_words = cuda.local.array((ROW_TILES, 4), uint32)
    fragment = cuda.local.array((ROW_TILES, COLUMN_TILES, 4), float32)

    for i in range(ROW_TILES):
        for j in range(COLUMN_TILES):
            for n in range(4):
                fragment[i, j, n] = float32(0)

    for step in range(WORDS // 8):
        w = 8 * step + place
        for i in range(ROW_TILES):
            upper = first_row + 16 * i + group
            lower = upper + 8
            a_words[i, 0] = a_tile[upper, w]
            a_words[i, 1] = a_tile[lower, w]
            a_words[i, 2] = a_tile[upper, w + 4]
            a_words[i, 3] = a_tile[lower, w + 4]
        for j in range(COLUMN_TILES):
            b0 = b_tile[first_column + 8 * j + group, w]
            b1 = b_tile[first_column + 8 * j + group, w + 4]
            for i in range(ROW_TILES):
                c0, c1, c2, c3 = multiply_halves(
                    a_words[i, 0],
                    a_words[i, 1],
                    a_words[i, 2],
                    a_words[i, 3],
                    b0,
                    b1,
                    fragment[i, j, 0],
                    fragment[i, j, 1],
                    fragment[i, j, 2],
                    fragment[i, j, 3],
                )
                fragment[i, j, 0], fragment[i, j, 1] = c0, c1
                fragment[i, j, 2], fragment[i, j, 3] = c2, c3

    for i in range(ROW_TILES):
        for j in range(COLUMN_TILES):
            for n in range(4):
                sums[i, j, n] = fragment[i, j, n]


@cuda.jit
def product_halves(a, b, c):
    """c (m, n) float32 = a @ b.T, with a (m, words), b (n, words) uint32, two halves per word.

    Blocks of THREADS threads; any m and n, words a multiple of four. Needs compute capability 8.0.
    """
    a_tile = cuda.shared.array((TILE_ROWS, ROW_WORDS), uint32, alignment=16)
    b_tile = cuda.shared.array((TILE_ROWS, ROW_WORDS), uint32, alignment=16)
    sums = cuda.local.array((ROW_TILES, COLUMN_TILES, 4), float32)
    warp = cuda.threadIdx.x // WARP
    row, column = warp // ACROSS * WARP_ROWS, warp % ACROSS * WARP_COLUMNS
    first_row, first_column = cuda.blockIdx.y * PART, cuda.blockIdx.x * PART

    clear_fragments(sums)
    begin_copies(a, first_row, 0, a_tile, 0)
    begin_copies(b, first_column, 0, b_tile, 0)
    for word in range(0, a.shape[1], WORDS):
        top = word // WORDS % 2 * PART
        # What this thread has asked for in the last round is there, and behind the barrier what
        # every other has. Nobody reads the other half any more: all have multiplied it before they
        # came here. So the next round's copies may go there.
        wait_for_copies()
        cuda.syncthreads()
        begin_copies(a, first_row, word + WORDS, a_tile, PART - top)
        begin_copies(b, first_column, word + WORDS, b_tile, PART - top)
        add_warp_products(a_tile, b_tile, top + row, top + column, sums)
    store_fragments(sums, first_row + row, first_column + column, c)


def launch_product_halves(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], PART), blocks_for(c.shape[0], PART)
    launch(product_halves, blocks, THREADS, a, b, c)
