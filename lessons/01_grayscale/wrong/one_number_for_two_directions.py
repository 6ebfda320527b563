"""A one-dimensional thread number in a grid of two dimensions, cut into row and column."""
# caught by: every_pixel
# diagnosis: first row of threads only

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    pixel = cuda.grid(1)
    height, width = gray.shape
    if pixel >= height * width:
        return
    y = pixel // width
    x = pixel % width
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
