"""blocks_to_cover counts in one direction only."""
# caught by: shrink
# diagnosis: not a tuple


def blocks_to_cover(size, block):
    return (size[0] + block[0] - 1) // block[0]
