"""The width is that of the image, the height that of the small one."""
# caught by: downsample
# diagnosis: is cut into 23 x 7 cells

from numba import cuda

from kernels.config import COLOURS
from kernels.field_math import area_average


@cuda.jit
def downsample(image, small):
    x, y = cuda.grid(2)
    rows, columns = small.shape[0], image.shape[1]
    if x >= small.shape[1] or y >= rows:
        return
    for channel in range(COLOURS):
        small[y, x, channel] = area_average(image, x, y, columns, rows, channel)
