"""The top rung: 16 x 8 x 16 products in one instruction, on tensor cores.

    a (m, k / 2), b (n, k / 2), words of two halves  ->  c (m, n) float32 = a @ b.T

The idea: since 2017 a GPU has circuits that multiply small matrices. A warp asks for one such
product together: each lane holds a few elements of the factors, its *fragments*, and gets a few of
the result (`kernels.fast.ptx` says which). The factors are 16-bit floats, so they are rounded to
11 significant bits; the sums are float32. All else is as on the rungs below: a tile for the block,
in shared memory; a part of it for the warp, in registers; each number used often.

Both factors have the inner index along their rows, so that the two halves of a word, neighbours in
memory, are neighbours in the sum: that is what the instruction wants. A layer's weights are often
stored so, as b (units, inputs).

Source: NVIDIA, "Parallel Thread Execution ISA", section on mma.m16n8k16; CUTLASS.
"""

import numpy as np
from numba import cuda, float32, int32, uint32

from kernels.config import WARP
from kernels.fast.ptx import begin_copy, multiply_halves, wait_for_copies
from kernels.launch import blocks_for, on_gpu

DOWN, ACROSS = 2, 4  # warps of a block
THREADS = DOWN * ACROSS * WARP
# A warp has 4 x 4 products of one instruction: 64 rows and 32 columns of c.
ROW_TILES, COLUMN_TILES = 4, 4
WARP_ROWS, WARP_COLUMNS = 16 * ROW_TILES, 8 * COLUMN_TILES
PART = DOWN * WARP_ROWS  # rows of c per block; its columns are as many
WORDS = 16  # per row and round: 32 inner indices
# Rows begin 20 banks apart: the 8 rows x 4 words that a warp reads at once are in 32 banks.
ROW_WORDS = WORDS + 4
ROWS_AT_ONCE = 4 * THREADS // WORDS  # a thread copies four words at once
TILE_ROWS = 2 * PART  # two rounds


@cuda.jit(device=True)
def begin_copies(matrix, first, word, tile, top):
    """Begin to copy PART rows x WORDS words of a matrix to row `top` of tile (any, ROW_WORDS).

    first, word: where they begin in the matrix. What is outside becomes zeros.
    """
    row, column = cuda.threadIdx.x // 4, 4 * (cuda.threadIdx.x % 4)
    for i in range(0, PART, ROWS_AT_ONCE):
        inside = first + row + i < matrix.shape[0] and word + column < matrix.shape[1]
        begin_copy(
            tile, top + row + i, column, matrix, first + row + i, word + column, int32(inside)
        )


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    """Add to sums (ROW_TILES, COLUMN_TILES, 4) the warp's products of one round.

    a_tile, b_tile: (any, ROW_WORDS) uint32; their rows are rows and columns of c, and the inner
    index goes along their words: WORDS of them in a round, eight per instruction. first_row,
    first_column: the rows of a_tile and of b_tile where those of the warp begin. sums[i, j]: the
    lane's four sums of the piece i of 16 rows, and j of 8 columns.
    """
    lane = cuda.threadIdx.x % WARP
    # Unsigned, so that no index has to be looked at for being negative.
    row, column = uint32(first_row + lane // 4), uint32(first_column + lane // 4)
    word = uint32(lane % 4)
    a = cuda.local.array((ROW_TILES, 4), uint32)
    for step in range(0, WORDS, 8):
        low, high = word + uint32(step), word + uint32(step + 4)
        for i in range(ROW_TILES):
            upper, lower = row + uint32(16 * i), row + uint32(16 * i + 8)
            a[i, 0], a[i, 1] = a_tile[upper, low], a_tile[lower, low]
            a[i, 2], a[i, 3] = a_tile[upper, high], a_tile[lower, high]
        for j in range(COLUMN_TILES):
            own = column + uint32(8 * j)
            b0, b1 = b_tile[own, low], b_tile[own, high]
            for i in range(ROW_TILES):
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = multiply_halves(
                    a[i, 0], a[i, 1], a[i, 2], a[i, 3], b0, b1,
                    sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3],
                )  # fmt: skip


@cuda.jit(device=True)
def clear_fragments(sums):
    """Set sums (ROW_TILES, COLUMN_TILES, 4) to zero."""
    for i in range(ROW_TILES):
        for j in range(COLUMN_TILES):
            for n in range(4):
                sums[i, j, n] = float32(0)


@cuda.jit(device=True)
def store_fragments(sums, first_row, first_column, c):
    """Write the warp's part of c, which begins at first_row, first_column."""
    lane = cuda.threadIdx.x % WARP
    for i in range(ROW_TILES):
        for j in range(COLUMN_TILES):
            for n in range(4):
                row = first_row + 16 * i + lane // 4 + 8 * (n // 2)
                column = first_column + 8 * j + 2 * (lane % 4) + n % 2
                if row < c.shape[0] and column < c.shape[1]:
                    c[uint32(row), uint32(column)] = sums[i, j, n]


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


def words_of_halves(matrix):
    """(rows, columns) float32 -> (rows, words) uint32, two halves per word.

    Zeros fill the rows up to a multiple of four words, which are copied together.
    """
    halves = np.zeros((matrix.shape[0], 8 * blocks_for(matrix.shape[1], 8)), np.float16)
    halves[:, : matrix.shape[1]] = matrix
    return halves.view(np.uint32)


def launch_product_halves(a, b, c, launch=on_gpu):
    blocks = blocks_for(c.shape[1], PART), blocks_for(c.shape[0], PART)
    launch(product_halves, blocks, THREADS, a, b, c)
