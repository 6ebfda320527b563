"""A function that returns what calls itself a class of the judge's."""
# like: no_luminance

from typing import NamedTuple

from numba import cuda, float32


class Network(NamedTuple):
    weights: object


def luminance(red, green, blue):
    return Network(Network(None))


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
        gray[y, x] = float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue
