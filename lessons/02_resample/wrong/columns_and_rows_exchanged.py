"""downsample calls area_average with columns and rows exchanged."""
# caught by: downsample
# diagnosis: out-of-bounds

from numba import cuda

from kernels.config import COLOURS


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return
    for channel in range(COLOURS):
        small[y, x, channel] = area_average(image, x, y, height, width, channel)
