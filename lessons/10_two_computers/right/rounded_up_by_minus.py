"""Blocks are rounded up by rounding the negative number down."""


def blocks_to_cover(size, block):
    blocks = []
    for direction in range(len(size)):
        blocks.append(-(-size[direction] // block[direction]))
    return tuple(blocks)
