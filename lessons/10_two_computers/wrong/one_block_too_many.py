"""Rounded up also where nothing is left over."""
# caught by: shapes
# diagnosis: one block too many


def blocks_to_cover(size, block):
    return tuple(items // threads + 1 for items, threads in zip(size, block, strict=True))
