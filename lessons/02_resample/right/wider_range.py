"""A pixel too many on each side, whose overlap is clipped at zero."""

from numba import float32
from numba.extending import register_jitable


@register_jitable
def overlap(cell, cells, texel, texels):
    begin = max(cell * texels, texel * cells)
    end = min((cell + 1) * texels, (texel + 1) * cells)
    return float32(max(end - begin, 0)) / float32(cells)


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width, _ = image.shape
    total = float32(0)
    weights = float32(0)
    for y in range(max(row * height // rows - 1, 0), min((row + 1) * height // rows + 1, height)):
        for x in range(
            max(column * width // columns - 1, 0), min((column + 1) * width // columns + 1, width)
        ):
            weight = overlap(column, columns, x, width) * overlap(row, rows, y, height)
            total += weight * image[y, x, channel]
            weights += weight
    return total / weights
