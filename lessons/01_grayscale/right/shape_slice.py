"""The size is taken from a slice of the image's shape."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    h, w = image.shape[:2]
    if x >= w or y >= h:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
