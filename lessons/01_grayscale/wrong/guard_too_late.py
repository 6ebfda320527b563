"""The colours are read before the guard: threads beyond the picture read, too."""
# caught by: every_pixel
# diagnosis: out-of-bounds

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    brightness = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
    if x < width and y < height:
        gray[y, x] = brightness
