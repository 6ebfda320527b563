"""Weighed along x only: each row that is touched counts the same."""
# caught by: downsample
# diagnosis: weighed otherwise

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    first = row * height // rows
    last = ((row + 1) * height - 1) // rows
    mean = float32(0)
    for y in range(first, last + 1):
        line = float32(0)
        for x in range(column * width // columns, ((column + 1) * width - 1) // columns + 1):
            line += overlap(column, columns, x, width) * image[y, x, channel]
        mean += line * float32(columns) / float32(width)
    return mean / float32(last - first + 1)
