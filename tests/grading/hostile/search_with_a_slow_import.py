"""A file that takes long to import, and longer each time that its mistake is looked for."""
# like: zeros

import time

from numba import cuda

time.sleep(2)


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        gray[y, x] = 0 * luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
