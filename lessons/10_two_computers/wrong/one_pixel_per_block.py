"""A block is the three channels of one pixel: 29 of the 32 places of a warp are empty."""
# caught by: few_sectors
# diagnosis: empty places

from numba import cuda, float32

from kernels.launch import on_gpu
from kernels.transfers.block_shapes import blocks_to_cover


@cuda.jit
def tint(image, gains, tinted):
    x, y, channel = cuda.grid(3)
    height, width, channels = tinted.shape
    if channel >= channels or x >= width or y >= height:
        return

    tinted[y, x, channel] = min(image[y, x, channel] * gains[channel], float32(1))


def launch_tint(image, gains, tinted, launch=on_gpu):
    height, width, channels = tinted.shape
    block = 1, 1, 3
    blocks = blocks_to_cover((width, height, channels), block)
    launch(tint, blocks, block, image, gains, tinted)
