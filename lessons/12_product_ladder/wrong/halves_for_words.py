"""The inner index is counted in halves: places are two words apart, and a step has 16."""
# caught by: tensor_cores
# diagnosis: halves taken for words, places two apart, 8 further

from numba import cuda, uint32

from kernels.fast.ptx import multiply_halves
from kernels.products.tensor_cores import COLUMN_TILES, ROW_TILES, WARP, WORDS


@cuda.jit(device=True)
def add_warp_products(a_tile, b_tile, first_row, first_column, sums):
    of_a = cuda.local.array((ROW_TILES, 4), uint32)
    lane = cuda.threadIdx.x % WARP
    group = lane // 4
    place = 2 * (lane % 4)
    for k in range(0, WORDS, 16):
        for i in range(ROW_TILES):
            row = first_row + 16 * i + group
            of_a[i, 0] = a_tile[row, k + place]
            of_a[i, 1] = a_tile[row + 8, k + place]
            of_a[i, 2] = a_tile[row, k + place + 8]
            of_a[i, 3] = a_tile[row + 8, k + place + 8]
        for j in range(COLUMN_TILES):
            column = first_column + 8 * j + group
            b0 = b_tile[column, k + place]
            b1 = b_tile[column, k + place + 8]
            for i in range(ROW_TILES):
                s0, s1, s2, s3 = sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3]
                s0, s1, s2, s3 = multiply_halves(
                    of_a[i, 0], of_a[i, 1], of_a[i, 2], of_a[i, 3], b0, b1, s0, s1, s2, s3
                )
                sums[i, j, 0] = s0
                sums[i, j, 1] = s1
                sums[i, j, 2] = s2
                sums[i, j, 3] = s3
