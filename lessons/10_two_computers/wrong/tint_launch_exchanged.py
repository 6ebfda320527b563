"""launch gets the block before the blocks."""
# caught by: few_sectors
# diagnosis: empty places

from kernels.launch import on_gpu
from kernels.transfers.block_shapes import blocks_to_cover, tint


def launch_tint(image, gains, tinted, launch=on_gpu):
    height, width, channels = tinted.shape
    block = (channels, 32, 2)
    launch(tint, block, blocks_to_cover((channels, width, height), block), image, gains, tinted)
