"""The colours and the typeface that all pictures share."""

from functools import cache

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]  # red, green, blue: 0 to 255

PAPER = (255, 255, 255)
INK = (34, 38, 43)
MUTED = (118, 124, 132)
GRID = (231, 233, 236)


@cache
def font(size: float) -> ImageFont.FreeTypeFont:
    """Pillow's own typeface, which is there on every machine.

    It has what English needs; it lacks dashes and arrows, accents and other alphabets.
    """
    # Asked for a size, Pillow never gives the other kind, of one size only.
    return ImageFont.load_default(size=size)  # type: ignore[return-value]


def paper(width: int, height: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """A blank sheet, and what draws on it."""
    sheet = Image.new("RGB", (width, height), PAPER)
    return sheet, ImageDraw.Draw(sheet)


def headline(draw: ImageDraw.ImageDraw, left: float, title: str, below: str) -> None:
    """A part of a drawn page begins with its title, and smaller words below it."""
    draw.text((left, 12), title, INK, font(20), "la")
    draw.text((left, 37), below, MUTED, font(14), "la")
