"""area_average gets the size of the image, and not how many cells there are."""
# caught by: downsample
# diagnosis: is cut into 23 x 19 cells, and has 23 x 19 pixels itself

from numba import cuda

from kernels.config import COLOURS
from kernels.field_math import area_average


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    height, width, _ = image.shape
    if x < small.shape[1] and y < small.shape[0]:
        for channel in range(COLOURS):
            small[y, x, channel] = area_average(image, x, y, width, height, channel)
