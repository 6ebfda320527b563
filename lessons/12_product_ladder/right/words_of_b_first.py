"""The words of b are kept, and those of a read piece by piece; the two steps are written out."""

from numba import cuda, uint32

from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES


@cuda.jit(device=True)
def one_step(a_tile, b_tile, row, column, word, b, sums):
    for j in range(COLUMN_TILES):
        b[j, 0] = b_tile[column + 8 * j, word]
        b[j, 1] = b_tile[column + 8 * j, word + 4]
    for i in range(ROW_TILES):
        upper = row + 16 * i
        lower = upper + 8
        a0, a1 = a_tile[upper, word], a_tile[lower, word]
        a2, a3 = a_tile[upper, word + 4], a_tile[lower, word + 4]
        for j in range(COLUMN_TILES):
            c = multiply_halves(
                a0, a1, a2, a3, b[j, 0], b[j, 1],
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3],
            )  # fmt: skip
            for n in range(4):
                sums[i, j, n] = c[n]


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    lane = cuda.laneid
    b = cuda.local.array((COLUMN_TILES, 2), uint32)
    row, column = first_row + (lane >> 2), first_column + (lane >> 2)
    one_step(a_tile, b_tile, row, column, lane & 3, b, sums)
    one_step(a_tile, b_tile, row, column, 8 + (lane & 3), b, sums)
