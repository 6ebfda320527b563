"""No guard: threads beyond the large picture write outside."""
# caught by: upsample
# diagnosis: out-of-bounds

from numba import cuda

from kernels.field_math import bilinear, pixel_centre


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, _ = large.shape

    u, v = pixel_centre(y * width + x, width, height)
    red, green, blue = bilinear(small, u, v)
    large[y, x, 0] = red
    large[y, x, 1] = green
    large[y, x, 2] = blue
