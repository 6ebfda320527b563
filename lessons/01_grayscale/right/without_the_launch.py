"""The launch function was deleted."""
# whole file

from numba import cuda, float32
from numba.extending import register_jitable


@register_jitable
def luminance(r, g, b):
    return float32(0.2126) * r + float32(0.7152) * g + float32(0.0722) * b


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
