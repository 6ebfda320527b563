"""Every direction is divided by the size of the block along x."""
# caught by: shapes
# diagnosis: one number for all directions


def blocks_to_cover(size, block):
    return tuple(-(-items // block[0]) for items in size)
