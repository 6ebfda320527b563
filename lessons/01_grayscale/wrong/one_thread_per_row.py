"""One thread per row, as on a CPU: the grid has enough threads for the width, not the height."""
# caught by: many_blocks
# diagnosis: each of them goes through the same whole row or column

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    y = cuda.grid(1)
    height, width = gray.shape
    if y >= height:
        return

    for x in range(width):
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
