"""Compiled for the CPU."""
# points: 2

from numba import njit


@njit
def grayscale(image, gray):
    for y in range(gray.shape[0]):
        for x in range(gray.shape[1]):
            gray[y, x] = 0.2126 * image[y, x, 0] + 0.7152 * image[y, x, 1] + 0.0722 * image[y, x, 2]


def launch_over_pixels(kernel, source, result, launch):
    kernel(source, result)
