"""The guard is one too strict."""
# caught by: every_pixel
# diagnosis: one too strict

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width - 1 or y >= height - 1:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
