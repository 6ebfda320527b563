"""A function that returns three million numbers."""
# like: no_luminance

from numba import cuda, float32


def luminance(red, green, blue):
    return [0] * 3_000_000


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    height, width = gray.shape
    if x < width and y < height:
        red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
        gray[y, x] = float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue
