"""max in place of min."""
# caught by: few_sectors
# diagnosis: larger, not smaller

from numba import cuda, float32


@cuda.jit
def tint(image, gains, tinted):
    channel, x, y = cuda.grid(3)
    height, width, channels = image.shape
    if y >= height or x >= width or channel >= channels:
        return
    tinted[y, x, channel] = max(image[y, x, channel] * gains[channel], float32(1))
