"""blocks_to_cover divides with /."""
# caught by: shrink
# diagnosis: not whole numbers


def blocks_to_cover(size, block):
    return tuple((s + b - 1) / b for s, b in zip(size, block, strict=True))
