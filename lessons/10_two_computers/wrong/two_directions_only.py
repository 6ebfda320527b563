"""The third direction is forgotten."""
# caught by: shapes
# diagnosis: not one per direction

from kernels.launch import blocks_for


def blocks_to_cover(size, block):
    return blocks_for(size[0], block[0]), blocks_for(size[1], block[1])
