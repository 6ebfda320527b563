"""The words of a are read again for each piece of columns."""
# caught by: tensor_cores
# diagnosis: fragments read again

from numba import cuda

from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES, WARP, WORDS


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    lane = cuda.threadIdx.x % WARP
    group, place = lane // 4, lane % 4
    for word in range(place, WORDS, 8):
        for j in range(COLUMN_TILES):
            column = first_column + 8 * j + group
            low, high = b_tile[column, word], b_tile[column, word + 4]
            for i in range(ROW_TILES):
                row = first_row + 16 * i + group
                a0, a1 = a_tile[row, word], a_tile[row + 8, word]
                a2, a3 = a_tile[row, word + 4], a_tile[row + 8, word + 4]
                s0, s1, s2, s3 = sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3]
                s0, s1, s2, s3 = multiply_halves(a0, a1, a2, a3, low, high, s0, s1, s2, s3)
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = s0, s1, s2, s3
