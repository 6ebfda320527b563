"""The next round is copied to the half that is multiplied now."""
# caught by: tensor_cores
# diagnosis: that is not multiplied now

from numba import cuda, float32, uint32

from kernels.config import WARP
from kernels.fast.ptx_copy import wait_for_copies
from kernels.products.tensor_cores import (
    ACROSS,
    COLUMN_TILES,
    PART,
    ROW_TILES,
    ROW_WORDS,
    TILE_ROWS,
    WARP_COLUMNS,
    WARP_ROWS,
    WORDS,
    begin_copies,
    clear_fragments,
    store_fragments,
)


@cuda.jit
def product_halves(a, b, c):
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
        begin_copies(a, first_row, word + WORDS, a_tile, top)
        begin_copies(b, first_column, word + WORDS, b_tile, top)
        add_warp_products(a_tile, b_tile, top + row, top + column, sums)
    store_fragments(sums, first_row + row, first_column + column, c)
