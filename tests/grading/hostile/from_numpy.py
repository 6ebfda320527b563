"""NumPy in the launch function, and no kernel at all."""
# like: zeros

import numpy as np

from numba import cuda


def launch_over_pixels(kernel, source, result, launch=None):
    result[...] = source @ np.array([0.2126, 0.7152, 0.0722], np.float32)


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        gray[y, x] = 0
