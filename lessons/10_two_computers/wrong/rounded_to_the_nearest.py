"""The number of blocks is rounded to the nearest."""
# caught by: shrink
# diagnosis: rounded to the nearest


def blocks_to_cover(size, block):
    return tuple(max(1, round(items / threads)) for items, threads in zip(size, block, strict=True))
