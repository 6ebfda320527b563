"""The guard says `and`: a thread that is outside in one direction only is not stopped."""
# caught by: every_pixel
# diagnosis: `and` or `or`

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width and y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
