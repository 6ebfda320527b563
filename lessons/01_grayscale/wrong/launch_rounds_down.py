"""The grid is rounded down."""
# caught by: every_pixel
# diagnosis: grid rounded down

from kernels.config import TILE
from kernels.launch import on_gpu


def launch_over_pixels(kernel, source, result, launch=on_gpu):
    height, width = result.shape[:2]
    blocks = width // TILE, height // TILE
    launch(kernel, blocks, (TILE, TILE), source, result)
