"""The numbers of blocks are rounded down."""
# caught by: shrink
# diagnosis: rounded down


def blocks_to_cover(size, block):
    return tuple(items // threads for items, threads in zip(size, block, strict=True))
