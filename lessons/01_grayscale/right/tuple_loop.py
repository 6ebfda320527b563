"""A loop over a tuple of weights, within a positive guard."""

from numba import cuda, float32
from numba.extending import register_jitable


WEIGHTS = (float32(0.2126), float32(0.7152), float32(0.0722))


@register_jitable
def luminance(red, green, blue):
    return WEIGHTS[0] * red + WEIGHTS[1] * green + WEIGHTS[2] * blue


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        total = float32(0)
        for channel in (0, 1, 2):
            total += WEIGHTS[channel] * image[y, x, channel]
        gray[y, x] = total
