"""The rows of b_tile are taken for inner indices, as in a matrix (k, n)."""
# caught by: tensor_cores
# diagnosis: rows of b for inner indices

from numba import cuda, uint32

from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES, WARP, WORDS


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    lane = cuda.threadIdx.x % WARP
    group, place = lane // 4, lane % 4
    a = cuda.local.array((ROW_TILES, 4), uint32)
    for word in range(0, WORDS, 8):
        for i in range(ROW_TILES):
            row = first_row + 16 * i + group
            a[i, 0], a[i, 1] = a_tile[row, word + place], a_tile[row + 8, word + place]
            a[i, 2], a[i, 3] = a_tile[row, word + place + 4], a_tile[row + 8, word + place + 4]
        for j in range(COLUMN_TILES):
            column = first_column + 8 * j + place
            low, high = b_tile[column, word + group], b_tile[column + 4, word + group]
            for i in range(ROW_TILES):
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = multiply_halves(
                    a[i, 0], a[i, 1], a[i, 2], a[i, 3], low, high,
                    sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3],
                )  # fmt: skip
