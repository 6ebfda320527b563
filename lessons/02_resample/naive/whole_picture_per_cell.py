"""Each cell looks at all pixels of the image, most of them with the weight 0."""
# points: 9

from numba import float32
from numba.extending import register_jitable


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    total = float32(0)
    for y in range(height):
        for x in range(width):
            weight_x = max(overlap(column, columns, x, width), float32(0))
            weight_y = max(overlap(row, rows, y, height), float32(0))
            total += weight_x * weight_y * image[y, x, channel]
    return total / (float32(width) / float32(columns) * (float32(height) / float32(rows)))
