"""The guard asks for the size of the source: most of the result is never written."""
# caught by: upsample
# diagnosis: are other lengths of the arrays here: does the guard

from numba import cuda

from kernels.field_math import bilinear, pixel_centre


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return

    u, v = pixel_centre(y * width + x, width, height)
    red, green, blue = bilinear(small, u, v)
    large[y, x, 0] = red
    large[y, x, 1] = green
    large[y, x, 2] = blue
