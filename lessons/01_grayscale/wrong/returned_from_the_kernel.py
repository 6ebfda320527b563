"""The kernel returns the value instead of writing it."""
# caught by: every_pixel
# diagnosis: compile

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    return luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
