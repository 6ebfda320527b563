"""The guard says > instead of >=: one column and one row too many."""
# caught by: every_pixel
# diagnosis: out-of-bounds

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x > width or y > height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
