"""One side is compared for both."""
# caught by: every_pixel
# diagnosis: compared with the same length

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    size = gray.shape[0]
    if x >= size or y >= size:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
