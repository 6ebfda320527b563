"""No guard: the threads beyond the picture read and write outside the arrays."""
# caught by: every_pixel
# diagnosis: out-of-bounds

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
