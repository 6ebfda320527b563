"""cuda.fma for the sum."""

from numba import cuda, float32
from numba.extending import register_jitable


@cuda.jit(fastmath=True)
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        total = float32(0.0722) * image[y, x, 2]
        total = cuda.fma(image[y, x, 1], float32(0.7152), total)
        gray[y, x] = cuda.fma(image[y, x, 0], float32(0.2126), total)
