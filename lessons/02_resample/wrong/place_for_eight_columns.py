"""The overlaps of columns are kept in a local array of 8 numbers: a larger cell has more."""
# caught by: downsample
# diagnosis: out-of-bounds

import math

from numba import cuda, float32, int32
from numba.extending import register_jitable

from kernels.config import COLOURS, TILE
from kernels.field_math import pixel_centre
from kernels.launch import blocks_for, on_gpu

MOST_COLUMNS = 8


@register_jitable
def neighbours(coordinate, size):
    p = coordinate * float32(size) - float32(0.5)
    k = int32(math.floor(p))
    t = p - float32(k)
    low = int32(min(max(k, 0), size - 1))
    high = int32(min(max(k + 1, 0), size - 1))
    return low, high, t


@register_jitable
def corner_weights(x_fraction, y_fraction):
    nx = float32(1) - x_fraction
    ny = float32(1) - y_fraction
    return nx * ny, x_fraction * ny, nx * y_fraction, x_fraction * y_fraction


@register_jitable
def bilinear(texture, u, v):
    """Sample a (height, width, 3) float32 texture at (u, v); edges clamp. Returns three values."""
    left, right, x_fraction = neighbours(u, texture.shape[1])
    top, bottom, y_fraction = neighbours(v, texture.shape[0])
    w0, w1, w2, w3 = corner_weights(x_fraction, y_fraction)
    return (
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 0),
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 1),
        blend(texture, top, bottom, left, right, w0, w1, w2, w3, 2),
    )


@register_jitable
def blend(texture, top, bottom, left, right, w0, w1, w2, w3, channel):
    """Weighted sum of one channel of the four corner texels."""
    return (
        w0 * texture[top, left, channel]
        + w1 * texture[top, right, channel]
        + w2 * texture[bottom, left, channel]
        + w3 * texture[bottom, right, channel]
    )


@register_jitable
def overlap(cell, cells, texel, texels):
    begin = max(cell * texels, texel * cells)
    end = min((cell + 1) * texels, (texel + 1) * cells)
    return float32(end - begin) / float32(cells)


@register_jitable
def area_average(image, column, row, columns, rows, channel):
    height, width = image.shape[0], image.shape[1]
    total = float32(0)
    covered = float32(0)
    for y in range(row * height // rows, ((row + 1) * height - 1) // rows + 1):
        tall = overlap(row, rows, y, height)
        for x in range(column * width // columns, ((column + 1) * width - 1) // columns + 1):
            area = tall * overlap(column, columns, x, width)
            total += area * image[y, x, channel]
            covered += area
    return total / covered


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    rows, columns, _ = small.shape
    if x >= columns or y >= rows:
        return
    height, width, _ = image.shape
    left = x * width // columns
    right = ((x + 1) * width - 1) // columns
    widths = cuda.local.array(MOST_COLUMNS, float32)
    for i in range(left, right + 1):
        widths[i - left] = overlap(x, columns, i, width)
    red = float32(0)
    green = float32(0)
    blue = float32(0)
    area = float32(0)
    for j in range(y * height // rows, ((y + 1) * height - 1) // rows + 1):
        tall = overlap(y, rows, j, height)
        for i in range(left, right + 1):
            w = tall * widths[i - left]
            red += w * image[j, i, 0]
            green += w * image[j, i, 1]
            blue += w * image[j, i, 2]
            area += w
    small[y, x, 0] = red / area
    small[y, x, 1] = green / area
    small[y, x, 2] = blue / area


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, _ = large.shape
    if x >= width or y >= height:
        return
    u, v = pixel_centre(y * width + x, width, height)
    red, green, blue = bilinear(small, u, v)
    large[y, x, 0] = red
    large[y, x, 1] = green
    large[y, x, 2] = blue


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    """Run an image kernel with one thread for each pixel of `result`, in blocks of 16 x 16."""
    height, width = result.shape[:2]
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
