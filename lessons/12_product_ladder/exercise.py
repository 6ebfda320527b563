"""Lesson 12: the ladder. The product of lesson 5, from rung to rung faster.

Write the ten functions marked "write me"; the story is in README.md beside this file.

    a (m, k), b (k, n)  ->  c (m, n) = a @ b

Check your work with `python -m lessons check 12`.
"""

import math

from numba import cuda, float32, uint32
from numba.extending import register_jitable

from kernels.config import WARP
from kernels.fast.ptx import multiply_halves, wait_for_copies
from kernels.field_math import GELU_CUBE, GELU_SCALE
from kernels.launch import blocks_for, on_gpu
from kernels.products.double_buffered import TWO_ROUNDS
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
    raise NotImplementedError("write me")


@cuda.jit(device=True)
def keep_turned(loaded, tile, top):
    """Store what `load_turned` has read, in the same way: turned, so that rows become columns."""
    raise NotImplementedError("write me")


@cuda.jit(device=True)
def add_products(a_tile, b_tile, top, sums):
    """Add to sums (PER_THREAD, PER_THREAD) the products of one round.

    a_tile, b_tile: (any, PITCH), of which the rows `top` to `top` + DEPTH belong to this round.
    Thread (x, y) has the rows y, y + SIDE, ... of the block's part of c, and the columns x,
    x + SIDE, ...
    """
    raise NotImplementedError("write me")


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
    raise NotImplementedError("write me")


def launch_product_double_buffered(a, b, c, launch=on_gpu):
    launch_over_parts(product_double_buffered, c, (a, b, c), launch)


@cuda.jit
def product_nt(a, b, c):
    """c (m, n) = a (m, k) @ b.T, with b (n, k), all float32; any sizes."""
    raise NotImplementedError("write me")


@cuda.jit
def product_tn(a, b, c):
    """c (m, n) = a.T @ b (k, n), with a (k, m), all float32; any sizes."""
    raise NotImplementedError("write me")


def launch_product_nt(a, b, c, launch=on_gpu):
    launch_over_parts(product_nt, c, (a, b, c), launch)


def launch_product_tn(a, b, c, launch=on_gpu):
    launch_over_parts(product_tn, c, (a, b, c), launch)


@register_jitable
def gelu(x):
    """x / 2 * (1 + tanh(GELU_SCALE * (x + GELU_CUBE * x^3))), all of it float32.

    That is about x times the probability that a normal random number is below x. GELU_SCALE and
    GELU_CUBE are Python's floats: doubles to Numba.
    """
    raise NotImplementedError("write me")


@cuda.jit(device=True)
def add_bias_and_activate(sums, bias, first_column):
    """sums = gelu(sums + bias), in registers. first_column: of the block's part of c."""
    raise NotImplementedError("write me")


@cuda.jit
def product_bias_gelu(a, b, bias, c):
    """c (m, n) = gelu(a (m, k) @ b (k, n) + bias (n,)), all float32; any sizes."""
    raise NotImplementedError("write me")


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
    raise NotImplementedError("write me")


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
