"""The guard keeps away from the border, as a blur with neighbours would need."""
# caught by: every_pixel
# diagnosis: border not written

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < 1 or x >= width - 1:
        return
    if y < 1 or y >= height - 1:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
