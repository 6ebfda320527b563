"""The sum is divided by the area of the whole picture."""
# caught by: downsample
# diagnosis: divided by the whole picture

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    total = float32(0)
    for y in range(row * height // rows, ((row + 1) * height - 1) // rows + 1):
        for x in range(column * width // columns, ((column + 1) * width - 1) // columns + 1):
            weight = overlap(column, columns, x, width) * overlap(row, rows, y, height)
            total += weight * image[y, x, channel]
    return total / float32(width * height)
