"""The colours and the typeface of the lab's pictures."""

import unicodedata
from functools import cache

from PIL import ImageFont

PAPER = (255, 255, 255)
INK = (34, 38, 43)
MUTED = (118, 124, 132)
GRID = (231, 233, 236)

NOT_A_CHARACTER = "\uffff"  # no typeface has it


@cache
def font(size: float) -> ImageFont.FreeTypeFont:
    """Pillow's own typeface, which is there on every machine.

    It has what English needs; it lacks dashes and arrows, accents and other alphabets. Text that
    a user may have written goes through `drawable`.
    """
    # Asked for a size, Pillow never gives the other kind, of one size only.
    return ImageFont.load_default(size=size)  # type: ignore[return-value]


def drawable(text: str) -> str:
    """The text in characters that the typeface has: "é" becomes "e", and "λ" becomes "\\u03bb"."""
    characters = []
    for character in text:
        base = unicodedata.normalize("NFKD", character)[0]
        escaped = character.encode("unicode_escape").decode()
        shown = next((one for one in (character, base) if has_glyph(one)), escaped)
        characters.append(" " if character.isspace() else shown)
    return "".join(characters)


@cache
def has_glyph(character: str) -> bool:
    """Whether the typeface can draw a character, and does not put a box in its place."""
    return character.isprintable() and glyph(character) != glyph(NOT_A_CHARACTER)


def glyph(character: str) -> tuple[tuple[int, int], bytes]:
    mask = font(20).getmask(character)
    return mask.size, bytes(mask)
