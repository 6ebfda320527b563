"""Size and block are exchanged in the division."""
# caught by: shrink
# diagnosis: size and block exchanged

from kernels.launch import blocks_for


def blocks_to_cover(size, block):
    return tuple(blocks_for(threads, items) for items, threads in zip(size, block, strict=True))
