"""area_average gets the row before the column."""
# caught by: downsample
# diagnosis: Columns and rows are exchanged

from numba import cuda

from kernels.config import COLOURS


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    height, width, _ = small.shape
    if x >= width or y >= height:
        return
    for channel in range(COLOURS):
        small[y, x, channel] = area_average(image, y, x, height, width, channel)
