"""Weights in a tuple of the kernel, enumerated."""

from numba import cuda, float32


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        weights = (float32(0.2126), float32(0.7152), float32(0.0722))
        total = float32(0)
        for channel, weight in enumerate(weights):
            total += weight * image[y, x, channel]
        gray[y, x] = total
