"""A kernel with a signature, and a lambda of Python's for the guard."""

from numba import cuda


@cuda.jit("void(float32[:, :, ::1], float32[:, ::1])")
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if not (x < gray.shape[1] and y < gray.shape[0]):
        return
    gray[y, x] = luminance(image[y, x, 0], image[y, x, 1], image[y, x, 2])
