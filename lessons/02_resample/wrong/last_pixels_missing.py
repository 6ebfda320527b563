"""The loops end one too early: the pixels that a cell covers only in part are left out."""
# caught by: downsample
# diagnosis: last pixels missing

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    total = float32(0)
    count = float32(0)
    for y in range(row * height // rows, max((row + 1) * height // rows, row * height // rows + 1)):
        first = column * width // columns
        for x in range(first, max((column + 1) * width // columns, first + 1)):
            total += image[y, x, channel]
            count += float32(1)
    return total / count
