"""The colours and the typeface that all pictures share."""

from functools import cache

from PIL import ImageFont

PAPER = (255, 255, 255)
INK = (34, 38, 43)
MUTED = (118, 124, 132)
GRID = (231, 233, 236)


@cache
def font(size):
    """Pillow's own typeface, which is there on every machine. It lacks dashes and arrows."""
    return ImageFont.load_default(size=size)
