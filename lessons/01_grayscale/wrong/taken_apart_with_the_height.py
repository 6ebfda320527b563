"""The number of a pixel is made with the width, and taken apart with the height."""
# caught by: every_pixel
# diagnosis: out-of-bounds

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return
    pixel = y * width + x
    row = pixel // height
    column = pixel % height
    gray[row, column] = luminance(
        image[row, column, 0], image[row, column, 1], image[row, column, 2]
    )
