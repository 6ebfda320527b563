"""Rows as views, within a positive guard."""

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if y < height and x < width:
        row = image[y]
        out = gray[y]
        pixel = row[x]
        out[x] = luminance(pixel[0], pixel[1], pixel[2])
