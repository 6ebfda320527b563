"""The product is stored, read again and held at 1."""
# caught by: few_sectors
# diagnosis: read or written again

from numba import cuda, float32


@cuda.jit
def tint(image, gains, tinted):
    channel, x, y = cuda.grid(3)
    height, width, channels = tinted.shape
    if channel >= channels or x >= width or y >= height:
        return

    tinted[y, x, channel] = image[y, x, channel] * gains[channel]
    tinted[y, x, channel] = min(tinted[y, x, channel], float32(1))
