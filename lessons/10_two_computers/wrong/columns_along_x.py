"""x counts the columns, as in a gray picture: neighbours in a warp are three numbers apart."""
# caught by: few_sectors
# diagnosis: not side by side

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
    block = 32, 8, 1
    blocks = blocks_to_cover((width, height, channels), block)
    launch(tint, blocks, block, image, gains, tinted)
