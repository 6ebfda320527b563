"""The sum is divided by the number of pixels."""
# caught by: downsample
# diagnosis: number of pixels

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    first_row = row * height // rows
    last_row = ((row + 1) * height - 1) // rows
    first_column = column * width // columns
    last_column = ((column + 1) * width - 1) // columns
    total = float32(0)
    area = float32(0)
    for y in range(first_row, last_row + 1):
        for x in range(first_column, last_column + 1):
            weight = overlap(column, columns, x, width) * overlap(row, rows, y, height)
            total += weight * image[y, x, channel]
            area += float32(1)
    return total / area
