"""The image taken as three planes, a channel each, although the channel is its last index."""
# caught by: every_pixel
# diagnosis: should the number that is the first index now be the last?

from numba import cuda


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    inside = y < gray.shape[0] and x < gray.shape[1]
    if inside:
        reds, greens, blues = image[0], image[1], image[2]
        gray[y, x] = luminance(reds[y, x], greens[y, x], blues[y, x])
