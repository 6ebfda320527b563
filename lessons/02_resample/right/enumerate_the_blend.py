"""A loop over the tuple that bilinear returns, within a positive guard."""

from numba import cuda
from kernels.field_math import pixel_centre


@cuda.jit
def upsample(small, large):
    x, y = cuda.grid(2)
    height, width, channels = large.shape
    if x < width and y < height:
        u, v = pixel_centre(y * width + x, width, height)
        for channel, value in enumerate(bilinear(small, u, v)):
            large[y, x, channel] = value
