"""Only two channels are averaged."""
# caught by: downsample
# diagnosis: tail not written

from numba import cuda

from kernels.config import COLOURS


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return
    for channel in range(COLOURS - 1):
        small[y, x, channel] = area_average(image, x, y, width, height, channel)
