"""The launch has the rows along x."""
# caught by: naive
# diagnosis: the launch exchanges x and y

from kernels.config import TILE
from kernels.launch import blocks_for


def launch_over_elements(kernel, a, b, c, launch):
    blocks = blocks_for(c.shape[0], TILE), blocks_for(c.shape[1], TILE)
    launch(kernel, blocks, (TILE, TILE), a, b, c)
