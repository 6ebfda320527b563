"""A function that calls itself for ever."""
# like: honest

from kernels.config import TILE
from kernels.launch import blocks_for, on_gpu


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    if 16 < height < 100:
        launch_over_pixels(kernel, source, result, launch)
    blocks = blocks_for(width, TILE), blocks_for(height, TILE)
    launch(kernel, blocks, (TILE, TILE), source, result)
