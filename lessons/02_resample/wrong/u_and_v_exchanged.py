"""u and v are exchanged in the lookup."""
# caught by: upsample
# diagnosis: axes exchanged

from numba import cuda

from kernels.field_math import bilinear, pixel_centre


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, _ = large.shape
    if x >= width or y >= height:
        return

    u, v = pixel_centre(y * width + x, width, height)
    red, green, blue = bilinear(small, v, u)
    large[y, x, 0] = red
    large[y, x, 1] = green
    large[y, x, 2] = blue
