"""Channels are counted from 1."""
# caught by: every_pixel
# diagnosis: indices count from 0

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminance(image[y, x, 1], image[y, x, 2], image[y, x, 3])
