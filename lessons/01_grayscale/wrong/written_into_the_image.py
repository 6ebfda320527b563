"""The result is written into the image."""
# caught by: every_pixel
# diagnosis: changed input

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    image[y, x, 0] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
