"""Each thread makes its whole row in a loop: a pixel is made by all threads of its row."""
# caught by: many_blocks
# diagnosis: so many threads lie beside each other along x

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    height, width = gray.shape
    _, row = cuda.grid(2)
    if row >= height:
        return
    for column in range(width):
        r = image[row, column, 0]
        g = image[row, column, 1]
        b = image[row, column, 2]
        gray[row, column] = luminance(r, g, b)
