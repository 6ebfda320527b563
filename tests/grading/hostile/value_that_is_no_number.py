"""A function that returns arrays of NaN, of any size."""
# like: no_luminance

import numpy as np
from numba import cuda, float32


def luminance(red, green, blue):
    return np.full((2,) * 20, np.nan)


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
        gray[y, x] = float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue
