"""cuda.grid gives x first: wide pictures have columns, tall ones rows, that nobody writes."""
# caught by: many_blocks
# diagnosis: tail not written

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    y, x = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
