"""gray.shape is unpacked as (width, height): the guard stops the wrong threads."""
# caught by: every_pixel
# diagnosis: two indices exchanged

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    width, height = gray.shape
    if x >= width or y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
