"""The sizes come as (height, width, channels), and the kernel counts channels along x."""
# caught by: few_sectors
# diagnosis: too few blocks

from kernels.launch import on_gpu
from kernels.transfers.block_shapes import blocks_to_cover, tint


def launch_tint(image, gains, tinted, launch=on_gpu):
    height, width, channels = tinted.shape
    block = (channels, 32, 2)
    launch(tint, blocks_to_cover((height, width, channels), block), block, image, gains, tinted)
