"""Two directions are enough: x goes over all numbers of a row, whatever their channel."""

from numba import cuda, float32

from kernels.launch import on_gpu
from kernels.transfers.block_shapes import blocks_to_cover


@cuda.jit
def tint(image, gains, tinted):
    number, y = cuda.grid(2)
    height, width, channels = tinted.shape
    if number >= width * channels or y >= height:
        return

    x, channel = number // channels, number % channels
    tinted[y, x, channel] = min(image[y, x, channel] * gains[channel], float32(1))


def launch_tint(image, gains, tinted, launch=on_gpu):
    height, width, channels = tinted.shape
    blocks = blocks_to_cover((width * channels, height), (64, 4))
    launch(tint, blocks, (64, 4), image, gains, tinted)
