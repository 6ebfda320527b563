"""area_average gets the size of a cell in pixels, and not how many cells there are."""
# caught by: downsample
# diagnosis: gets `columns` and `rows`, made of the size of the image

from numba import cuda, float32
from numba.extending import register_jitable

from kernels.config import COLOURS


@register_jitable
def common(a_from, a_to, b_from, b_to):
    return max(min(a_to, b_to) - max(a_from, b_from), 0)


@register_jitable
def overlap(cell, cells, texel, texels):
    pieces = common(cell * texels, (cell + 1) * texels, texel * cells, (texel + 1) * cells)
    return float32(pieces) / float32(cells)


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    h = image.shape[0]
    w = image.shape[1]
    j_end = ((row + 1) * h - 1) // rows
    i_end = ((column + 1) * w - 1) // columns
    acc = float32(0)
    j = row * h // rows
    while j <= j_end:
        i = column * w // columns
        while i <= i_end:
            acc += overlap(row, rows, j, h) * overlap(column, columns, i, w) * image[j, i, channel]
            i += 1
        j += 1
    return acc * (float32(rows) / float32(h)) * (float32(columns) / float32(w))


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return
    columns = image.shape[1] // width
    rows = image.shape[0] // height
    for channel in range(COLOURS):
        small[y, x, channel] = area_average(image, x, y, columns, rows, channel)
