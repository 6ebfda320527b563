"""An endless loop in the launch function."""
# like: honest

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    while 16 < height < 100:
        pass
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
