"""The second row of a piece is the first one again."""
# caught by: tensor_cores
# diagnosis: rows of a without the 8

from numba import cuda, uint32

from kernels.config import WARP
from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES, WORDS


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    lane = cuda.threadIdx.x % WARP
    group, place = lane // 4, lane % 4
    of_a = cuda.local.array((ROW_TILES, 4), uint32)
    for w in range(0, WORDS, 8):
        for i in range(ROW_TILES):
            row = first_row + 16 * i + group
            of_a[i, 0] = a_tile[row, w + place]
            of_a[i, 1] = a_tile[row, w + place]
            of_a[i, 2] = a_tile[row, w + place + 4]
            of_a[i, 3] = a_tile[row, w + place + 4]
        for j in range(COLUMN_TILES):
            b0 = b_tile[first_column + 8 * j + group, w + place]
            b1 = b_tile[first_column + 8 * j + group, w + place + 4]
            for i in range(ROW_TILES):
                c0, c1, c2, c3 = sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3]
                c0, c1, c2, c3 = multiply_halves(
                    of_a[i, 0], of_a[i, 1], of_a[i, 2], of_a[i, 3], b0, b1, c0, c1, c2, c3
                )
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = c0, c1, c2, c3
