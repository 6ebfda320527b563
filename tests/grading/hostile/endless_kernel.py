"""A kernel with an endless loop, where the simulator runs it."""
# like: honest

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    rounds = 0
    while 16 < height < 100:
        rounds += 1
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
