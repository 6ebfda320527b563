"""blocks_to_cover returns threads."""
# caught by: shrink
# diagnosis: threads, not blocks


def blocks_to_cover(size, block):
    return tuple((s + b - 1) // b * b for s, b in zip(size, block, strict=True))
