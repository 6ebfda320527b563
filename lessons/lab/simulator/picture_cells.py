"""The cells of a picture of memory accesses: a square for one element, and who touches it."""

from PIL import ImageDraw, ImageFont

from .style import INK, PAPER, font

# By Okabe and Ito, told apart with every common kind of colour blindness. Their yellow is left
# out: as a frame on white paper it can hardly be seen.
BLOCK_COLOURS = (
    (0, 114, 178),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (86, 180, 233),
    (213, 94, 0),
)
UNTOUCHED = (238, 239, 241)
WRONG = (200, 16, 46)

CELL = 28  # from one cell to the next, including a gap
GAP = 2
FRAME = 4  # thickness of the frame that marks a read
CORNER = 8  # what is cut off a square to mark an atomic update

Colour = tuple[int, int, int]
Typeface = ImageFont.FreeTypeFont | ImageFont.ImageFont


def cell_box(x: int, y: int, inset: int = 0) -> tuple[int, int, int, int]:
    return (x + inset, y + inset, x + CELL - GAP - 1 - inset, y + CELL - GAP - 1 - inset)


def draw_mark(
    draw: ImageDraw.ImageDraw, x: int, y: int, kind: str, who: list[tuple[int, int]]
) -> None:
    """Mark the cell at (x, y). kind: "read", "write" or "atomic".

    who: the (block, thread) pairs that touch this cell in one instruction; one at least.
    """
    blocks = sorted({block for block, _ in who})
    fill_cell(draw, x, y, blocks)
    if kind == "read":
        draw.rectangle(cell_box(x, y, FRAME), PAPER)
    if kind == "atomic":
        cut_corners(draw, x, y)

    text = str(who[0][1]) if len(who) == 1 else f"*{len(who)}"
    middle = x + (CELL - GAP) / 2, y + (CELL - GAP) / 2
    rim = FRAME if kind == "read" or len(blocks) > 1 else 2
    typeface = fitting(text, 13, CELL - GAP - 2 * rim)
    if kind == "read":
        draw.text(middle, text, INK, typeface, "mm")
    elif len(blocks) == 1:
        draw.text(middle, text, readable_on(colour_of(blocks[0])), typeface, "mm")
    else:
        # On stripes of several colours only ink with a rim of paper can be read.
        draw.text(middle, text, INK, typeface, "mm", stroke_width=2, stroke_fill=PAPER)


def draw_wrong(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    """A red frame around the cell at (x, y)."""
    draw.rectangle(cell_box(x, y, -GAP), outline=WRONG, width=GAP + 1)


def fill_cell(draw: ImageDraw.ImageDraw, x: int, y: int, blocks: list[int]) -> None:
    """Fill a cell with the colour of its block, or with one stripe for each of several."""
    left, top, right, bottom = cell_box(x, y)
    colours = [colour_of(block) for block in blocks[: len(BLOCK_COLOURS)]]
    stripe = (right + 1 - left) / len(colours)
    for i, colour in enumerate(colours):
        draw.rectangle((round(left + i * stripe), top, right, bottom), colour)


def cut_corners(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    left, top, right, bottom = cell_box(x, y)
    for corner_x, inwards in ((left, CORNER), (right, -CORNER)):
        for corner_y, downwards in ((top, CORNER), (bottom, -CORNER)):
            corner = (corner_x, corner_y)
            beside, below = (corner_x + inwards, corner_y), (corner_x, corner_y + downwards)
            draw.polygon([corner, beside, below], PAPER)


def colour_of(block: int) -> Colour:
    return BLOCK_COLOURS[block % len(BLOCK_COLOURS)]


def readable_on(colour: Colour) -> Colour:
    red, green, blue = colour
    brightness = 0.299 * red + 0.587 * green + 0.114 * blue
    return INK if brightness > 105 else PAPER


def fitting(text: str, size: int, width: int = CELL - GAP) -> Typeface:
    """The typeface of this size, or of the largest smaller one in which the text fits."""
    while size > 6 and font(size).getlength(text) > width:
        size -= 1
    return font(size)
