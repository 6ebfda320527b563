"""Grid-stride loops over pixels and channels."""

from numba import cuda
from kernels.field_math import pixel_centre


@cuda.jit
def downsample(image, small):
    height, width, channels = small.shape
    x0, y0 = cuda.grid(2)
    dx, dy = cuda.gridsize(2)
    for y in range(y0, height, dy):
        for x in range(x0, width, dx):
            for channel in range(channels):
                small[y, x, channel] = area_average(image, x, y, width, height, channel)
