"""All pieces of 16 rows share an array of four words, which holds those of the last one."""
# caught by: tensor_cores
# diagnosis: words of the last rows

from numba import cuda, uint32

from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES, WARP, WORDS


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    lane = cuda.threadIdx.x % WARP
    group, place = lane // 4, lane % 4
    a = cuda.local.array(4, uint32)
    for word in range(place, WORDS, 8):
        for i in range(ROW_TILES):
            row = first_row + 16 * i + group
            a[0], a[1] = a_tile[row, word], a_tile[row + 8, word]
            a[2], a[3] = a_tile[row, word + 4], a_tile[row + 8, word + 4]
        for j in range(COLUMN_TILES):
            column = first_column + 8 * j + group
            low, high = b_tile[column, word], b_tile[column, word + 4]
            for i in range(ROW_TILES):
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = multiply_halves(
                    a[0], a[1], a[2], a[3], low, high,
                    sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3],
                )  # fmt: skip
