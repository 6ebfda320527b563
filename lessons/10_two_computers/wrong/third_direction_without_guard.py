"""The guard forgets the channels."""
# caught by: few_sectors
# diagnosis: out-of-bounds

from numba import cuda, float32


@cuda.jit
def tint(image, gains, tinted):
    channel, x, y = cuda.grid(3)
    height, width, channels = tinted.shape
    if x >= width or y >= height:
        return

    tinted[y, x, channel] = min(image[y, x, channel] * gains[channel], float32(1))
