"""luminance as a device function, another helper besides."""

from numba import cuda, float32


@cuda.jit(device=True)
def weighted(weight, value):
    return float32(weight) * value


@cuda.jit(device=True, inline="always")
def pixel_brightness(image, y, x):
    return (
        weighted(0.2126, image[y, x, 0])
        + weighted(0.7152, image[y, x, 1])
        + weighted(0.0722, image[y, x, 2])
    )


@cuda.jit
def grayscale(image, gray):
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        gray[y, x] = pixel_brightness(image, y, x)
