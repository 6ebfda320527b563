"""The picture is written upside down."""
# caught by: every_pixel
# diagnosis: flipped

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[height - 1 - y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
