"""A guard that encloses the work."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
