"""A kernel takes the address of an array by getattr, which Numba knows."""
# like: outside

from numba import cuda
from numba.extending import register_jitable


@register_jitable
def address(array):
    return getattr(getattr(array, "ctypes"), "data")


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x >= width or y >= height:
        return

    if address(gray):
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
