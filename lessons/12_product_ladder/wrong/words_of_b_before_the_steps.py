"""The words of b are read once, before the loop over the steps."""
# caught by: tensor_cores
# diagnosis: words of b do not go on

from numba import cuda, uint32

from kernels.config import WARP
from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES, WORDS


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    lane = cuda.threadIdx.x % WARP
    group, place = lane // 4, lane % 4
    b_words = cuda.local.array((COLUMN_TILES, 2), uint32)
    for j in range(COLUMN_TILES):
        b_words[j, 0] = b_tile[first_column + 8 * j + group, place]
        b_words[j, 1] = b_tile[first_column + 8 * j + group, place + 4]

    for w in range(0, WORDS, 8):
        for i in range(ROW_TILES):
            row = first_row + 16 * i + group
            a0 = a_tile[row, w + place]
            a1 = a_tile[row + 8, w + place]
            a2 = a_tile[row, w + place + 4]
            a3 = a_tile[row + 8, w + place + 4]
            for j in range(COLUMN_TILES):
                c0, c1, c2, c3 = multiply_halves(
                    a0,
                    a1,
                    a2,
                    a3,
                    b_words[j, 0],
                    b_words[j, 1],
                    sums[i, j, 0],
                    sums[i, j, 1],
                    sums[i, j, 2],
                    sums[i, j, 3],
                )
                sums[i, j, 0] = c0
                sums[i, j, 1] = c1
                sums[i, j, 2] = c2
                sums[i, j, 3] = c3
