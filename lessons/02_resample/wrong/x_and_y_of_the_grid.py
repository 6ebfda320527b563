"""pixel_centre is given y * height + x."""
# caught by: upsample
# diagnosis: numbered y * height + x

from numba import cuda

from kernels.field_math import pixel_centre


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, _ = large.shape
    if x >= width or y >= height:
        return
    u, v = pixel_centre(y * height + x, width, height)
    red, green, blue = bilinear(small, u, v)
    large[y, x, 0] = red
    large[y, x, 1] = green
    large[y, x, 2] = blue
