"""The last row and column belong to the cell, and range stops before them."""
# caught by: downsample
# diagnosis: last rows and columns missing

from numba import float32
from numba.extending import register_jitable

from kernels.field_math import overlap


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    """Mean of one image channel over cell (column, row) of a columns x rows division."""
    nrow = image.shape[0]
    ncol = image.shape[1]
    i1 = row * nrow // rows
    i2 = ((row + 1) * nrow - 1) // rows
    j1 = column * ncol // columns
    j2 = ((column + 1) * ncol - 1) // columns
    s = float32(0)
    for i in range(i1, i2):
        wi = overlap(row, rows, i, nrow)
        for j in range(j1, j2):
            wj = overlap(column, columns, j, ncol)
            s = s + wi * wj * image[i, j, channel]
    return s * float32(rows * columns) / float32(nrow * ncol)
