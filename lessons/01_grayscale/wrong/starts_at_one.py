"""The first row and column are left out: x and y are counted from 1."""
# caught by: every_pixel
# diagnosis: beginning not written

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    x += 1
    y += 1
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
