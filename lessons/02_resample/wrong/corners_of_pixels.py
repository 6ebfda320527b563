"""The large picture is sampled at the corners of its pixels."""
# caught by: upsample
# diagnosis: half a pixel

from numba import cuda, float32

from kernels.field_math import bilinear


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, _ = large.shape
    if x >= width or y >= height:
        return

    u = float32(x) / float32(width)
    v = float32(y) / float32(height)
    red, green, blue = bilinear(small, u, v)
    large[y, x, 0] = red
    large[y, x, 1] = green
    large[y, x, 2] = blue
