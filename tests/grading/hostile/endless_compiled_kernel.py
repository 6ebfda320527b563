"""A kernel with an endless loop, where it runs as compiled code."""
# like: honest

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
    while height > 100:
        gray[y, x] += image[y, x, 0]
