"""One row and column too many are visited."""
# caught by: downsample
# diagnosis: out-of-bounds

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    total = float32(0)
    for y in range(row * height // rows, (row + 1) * height // rows + 1):
        for x in range(column * width // columns, (column + 1) * width // columns + 1):
            weight = overlap(column, columns, x, width) * overlap(row, rows, y, height)
            total += weight * image[y, x, channel]
    return total / (float32(width) / float32(columns) * (float32(height) / float32(rows)))
