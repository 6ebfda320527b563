"""The gain is held at 1, and not the product."""
# caught by: few_sectors
# diagnosis: gain held at 1

from numba import cuda, float32


@cuda.jit
def tint(image, gains, tinted):
    channel, x, y = cuda.grid(3)
    height, width, channels = image.shape
    if y >= height or x >= width or channel >= channels:
        return
    tinted[y, x, channel] = image[y, x, channel] * min(gains[channel], float32(1))
