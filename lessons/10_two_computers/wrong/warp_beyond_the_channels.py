"""A warp's 32 threads lie along the three channels."""
# caught by: few_sectors
# diagnosis: 32 threads for 3 channels

from kernels.launch import on_gpu


def launch_tint(image, gains, tinted, launch=on_gpu):
    height, width, channels = tinted.shape
    block = 32, 8, 1
    blocks = blocks_to_cover((channels, width, height), block)
    launch(tint, blocks, block, image, gains, tinted)
