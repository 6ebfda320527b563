"""Half a guard: on a GPU the picture even looks right, but the last row is written past its end."""
# caught by: every_pixel
# diagnosis: out-of-bounds

from numba import cuda

from kernels.field_math import luminance


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height = gray.shape[0]
    if y >= height:
        return

    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
