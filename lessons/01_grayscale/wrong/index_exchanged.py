"""Arrays are indexed [x, y]: the row has to come first."""
# caught by: every_pixel
# diagnosis: two indices exchanged

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[x, y] = luminance(image[x, y, 0], image[x, y, 1], image[x, y, 2])
