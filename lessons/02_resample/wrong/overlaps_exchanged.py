"""The column's overlap gets the row's pixel."""
# caught by: downsample
# diagnosis: other arguments

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width = image.shape[0], image.shape[1]
    top = row * height // rows
    bottom = ((row + 1) * height - 1) // rows
    left = column * width // columns
    right = ((column + 1) * width - 1) // columns
    total = float32(0)
    area = float32(0)
    for y in range(top, bottom + 1):
        part_y = overlap(row, rows, y, width)
        for x in range(left, right + 1):
            part = part_y * overlap(column, columns, x, height)
            total += part * image[y, x, channel]
            area += part
    return total / area
