"""Pieces of b are taken for as high as those of a."""
# caught by: tensor_cores
# diagnosis: 8 of b_tile

from numba import cuda, uint32

from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES, WARP, WORDS


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    lane = cuda.threadIdx.x % WARP
    group = lane // 4
    place = lane % 4
    words = cuda.local.array((ROW_TILES, 4), uint32)
    for w in range(0, WORDS, 8):
        for i in range(ROW_TILES):
            row = first_row + i * 16 + group
            words[i, 0] = a_tile[row, w + place]
            words[i, 1] = a_tile[row + 8, w + place]
            words[i, 2] = a_tile[row, w + place + 4]
            words[i, 3] = a_tile[row + 8, w + place + 4]
        for j in range(COLUMN_TILES):
            column = first_column + j * 16 + group
            b0 = b_tile[column, w + place]
            b1 = b_tile[column, w + place + 4]
            for i in range(ROW_TILES):
                c0, c1, c2, c3 = multiply_halves(
                    words[i, 0],
                    words[i, 1],
                    words[i, 2],
                    words[i, 3],
                    b0,
                    b1,
                    sums[i, j, 0],
                    sums[i, j, 1],
                    sums[i, j, 2],
                    sums[i, j, 3],
                )
                sums[i, j, 0] = c0
                sums[i, j, 1] = c1
                sums[i, j, 2] = c2
                sums[i, j, 3] = c3
