"""A function within the kernel."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    def is_inside(x, y):
        return x < gray.shape[1] and y < gray.shape[0]

    x, y = cuda.grid(2)
    if is_inside(x, y):
        gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
