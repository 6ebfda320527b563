"""The sum begins as 0.0, a double, and all of it is computed in doubles."""
# caught by: float32
# diagnosis: slow

from numba import float32
from numba.extending import register_jitable

from kernels.field_math import overlap


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    total = 0.0
    for y in range(row * height // rows, ((row + 1) * height - 1) // rows + 1):
        for x in range(column * width // columns, ((column + 1) * width - 1) // columns + 1):
            weight = overlap(column, columns, x, width) * overlap(row, rows, y, height)
            total += weight * image[y, x, channel]
    return total / (float32(width) / float32(columns) * (float32(height) / float32(rows)))
