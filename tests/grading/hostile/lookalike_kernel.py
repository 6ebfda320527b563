"""An object that looks like a kernel, and shows another function each time."""
# like: zeros

from numba import cuda


def honest(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])


class Lookalike:
    targetoptions = {"device": False}

    @property
    def py_func(self):
        return honest


grayscale = Lookalike()
