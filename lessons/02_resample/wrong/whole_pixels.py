"""Every pixel that a cell touches counts as a whole one."""
# caught by: downsample
# diagnosis: whole pixels

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    total = float32(0)
    count = float32(0)
    for y in range(row * height // rows, ((row + 1) * height - 1) // rows + 1):
        for x in range(column * width // columns, ((column + 1) * width - 1) // columns + 1):
            total += image[y, x, channel]
            count += float32(1)
    return total / count
