"""The pixel is unpacked."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    h, w, channels = image.shape
    if y < h and x < w:
        r, g, b = image[y, x]
        gray[y, x] = luminance(r, g, b)
