"""The launch covers (height, width, channels), and the kernel counts channel, x, y."""
# caught by: few_sectors
# diagnosis: a direction too short

from kernels.launch import on_gpu


def launch_tint(image, gains, tinted, launch=on_gpu):
    height, width, channels = tinted.shape
    # x counts what lies side by side in memory: 3 channels of 32 pixels are three warps.
    block = 3, 32, 2
    blocks = blocks_to_cover((height, width, channels), block)
    launch(tint, blocks, block, image, gains, tinted)
