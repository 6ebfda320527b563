"""The guard stops the first thread beyond the edge, and no other."""
# caught by: every_pixel
# diagnosis: `==` where it must be `>=`

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x == width or y == height:
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
