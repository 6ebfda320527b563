"""The number of a pixel is made and taken apart with the height, but a row has `width` pixels."""
# caught by: every_pixel
# diagnosis: with `h`, which is 9, the number of rows

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    px, py = cuda.grid(2)
    h = gray.shape[0]
    w = gray.shape[1]
    if px < w and py < h:
        number = py * h + px
        row = number // h
        col = number % h
        gray[row, col] = luminance(image[row, col, 0], image[row, col, 1], image[row, col, 2])
