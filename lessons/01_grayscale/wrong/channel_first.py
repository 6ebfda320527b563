"""The channel as the first index, as in other libraries."""
# caught by: every_pixel
# diagnosis: out-of-bounds

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminance(image[0, y, x], image[1, y, x], image[2, y, x])
