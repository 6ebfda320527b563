"""gray gets one index, as if it had one dimension."""
# caught by: every_pixel
# diagnosis: has 2 dimensions

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y * width + x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
