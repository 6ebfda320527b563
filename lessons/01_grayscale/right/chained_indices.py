"""Chained indices."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if x >= gray.shape[1] or y >= gray.shape[0]:
        return
    gray[y][x] = luminance(image[y][x][0], image[y][x][1], image[y][x][2])
