"""The size of a picture is written in."""
# caught by: every_pixel
# diagnosis: out-of-bounds

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if x >= 800 or y >= 550:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
