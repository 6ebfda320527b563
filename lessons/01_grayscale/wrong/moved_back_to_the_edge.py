"""Threads beyond the picture are moved back to its edge, and are not sent home."""
# caught by: every_pixel
# diagnosis: also those beyond the edge

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    px, py = cuda.grid(2)
    h, w = gray.shape
    if px > w - 1:
        px = w - 1
    if py > h - 1:
        py = h - 1
    gray[py, px] = luminance(image[py, px, 0], image[py, px, 1], image[py, px, 2])
