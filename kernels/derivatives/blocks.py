"""The grid and block of every written kernel: a thread per number of an array."""

from kernels.config import TILE
from kernels.launch import blocks_for

BLOCK = (TILE, TILE)  # columns, rows


def blocks_over(array):
    """Blocks (x, y) of TILE x TILE threads that cover array (rows, columns)."""
    rows, columns = array.shape
    return blocks_for(columns, TILE), blocks_for(rows, TILE)
