"""A slice of three channels, whose elements are read."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if y < height and x < width:
        pixel = image[y, x, :]
        gray[y, x] = luminance(pixel[0], pixel[1], pixel[2])
