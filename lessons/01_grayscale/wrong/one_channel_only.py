"""Red is read three times."""
# caught by: every_pixel
# diagnosis: channels (0, 0, 0)

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 0], image[y, x, 0])
