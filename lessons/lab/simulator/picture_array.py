"""Arrays in the picture of accesses, and their elements."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import ImageDraw, ImageFont

from .events import AccessEvent
from .style import INK, MUTED, PAPER, font

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


# ---------------------------------------------------------------- arrays


PANEL_GAP, CAPTION_HEIGHT, INDEX_HEIGHT, NOTE_HEIGHT = 28, 20, 15, 18

# What is drawn of large arrays.
MOST_ROWS, MOST_COLUMNS = 16, 64
ROWS_NEAR, COLUMNS_NEAR, PANELS_NEAR = 7, 20, 2  # if something is wrong
MAX_ARRAY_WIDTH, MAX_ARRAY_HEIGHT = 1940, 1600


class ArrayKey(NamedTuple):
    """Accesses with the same key touch the same array."""

    name: str
    space: str
    shape: tuple[int, ...]


def array_of(event: AccessEvent) -> ArrayKey:
    return ArrayKey(event.array, event.space, event.shape)


class Window(NamedTuple):
    """The rows or columns `first` ... `first + length - 1` of `total`."""

    first: int
    length: int
    total: int

    def holds(self, index: np.ndarray) -> np.ndarray:
        return (index >= self.first) & (index < self.first + self.length)

    @property
    def cropped(self) -> bool:
        return self.length < self.total

    def __str__(self) -> str:
        return f"{self.first:,} to {self.first + self.length - 1:,} of {self.total:,}"


class Accesses(NamedTuple):
    """An event's accesses inside its array, and where they are drawn: arrays of one length."""

    piece: np.ndarray
    row: np.ndarray
    column: np.ndarray
    block: np.ndarray
    thread: np.ndarray


class Panel(NamedTuple):
    """The cells of one piece of an array; (x, y) is its top left corner within the drawing."""

    caption: str
    x: int
    y: int


class ArrayDrawing:
    """How one array is drawn: in which pieces, and which part of each.

    A piece is a matrix. A shared or local array has one for each block, and an array of three or
    more dimensions is a pile of them, its slices. Every piece that is ever touched has a panel.
    """

    def __init__(self, events: Sequence[AccessEvent], threads: int, near: bool = False) -> None:
        """events: all that touch the array, one at least. threads: per block.

        near: draw of a large array what is around the elements that something is wrong with.
        """
        self.name, self.space, self.shape = array_of(events[0])
        self.slices = 1 if self.space == "local" else math.prod(self.shape[:-2])
        rows, columns = matrix_of(self.space, self.shape, threads)
        parts = [self.accesses(event) for event in events]
        piece, row, column, _, _ = (np.concatenate(part) for part in zip(*parts, strict=True))
        marked = [self.accesses(event, event.marked) for event in events if event.marked]
        most = (ROWS_NEAR, COLUMNS_NEAR) if near else (MOST_ROWS, MOST_COLUMNS)
        self.rows = window(row, rows, most[0], [int(part.row[0]) for part in marked])
        self.columns = window(column, columns, most[1], [int(part.column[0]) for part in marked])
        self.row_names = self.width_of_row_names() if rows > 1 else 0
        # If every access misses the array, show what it misses.
        touched = np.unique(piece).tolist() or [0]
        wrong = dict.fromkeys(int(number) for part in marked for number in part.piece)
        first = [*wrong, *(number for number in touched if number not in wrong)]
        self.panels = self.place_panels(sorted(first[:PANELS_NEAR]) if near else touched)
        panels = self.panels.values()
        self.width = max(panel.x + self.panel_width(panel.caption) for panel in panels)
        self.panel_bottom = max(panel.y for panel in panels) + self.panel_height
        self.notes = self.what_is_left_out(len(touched))
        self.height = self.panel_bottom + NOTE_HEIGHT * len(self.notes)

    def width_of_row_names(self) -> int:
        last_row = self.rows.first + self.rows.length - 1
        return round(font(11).getlength(str(last_row))) + 7

    def accesses(self, event: AccessEvent, only: tuple[int, ...] = ()) -> Accesses:
        """The accesses of an event inside the array. only: numbers of some of them, all inside."""
        inside = (event.element >= 0) & (event.element < math.prod(self.shape))
        if only:
            inside = np.isin(np.arange(len(inside)), only)
        element, block, thread = event.element[inside], event.block[inside], event.thread[inside]
        if self.space == "local":
            return Accesses(block, thread, element, block, thread)
        rows, columns = matrix_of(self.space, self.shape, 1)
        piece, within = element // (rows * columns), element % (rows * columns)
        if self.space == "shared":
            piece = piece + block * self.slices
        return Accesses(piece, within // columns, within % columns, block, thread)

    # ------------------------------------------------------------ panels

    def place_panels(self, touched: list[int]) -> dict[int, Panel]:
        """Side by side like words, on a new line where the paper ends. piece -> its panel."""
        panels: dict[int, Panel] = {}
        x, y = 0, 0
        for piece in touched:
            caption = self.caption(piece)
            width = self.panel_width(caption)
            if x > 0 and x + width > MAX_ARRAY_WIDTH:
                x, y = 0, y + self.panel_height + PANEL_GAP // 2
            if y + self.panel_height > MAX_ARRAY_HEIGHT:
                break
            panels[piece] = Panel(caption, x, y)
            x += width + PANEL_GAP
        return panels

    def panel_width(self, caption: str) -> int:
        cells = self.columns.length * CELL
        return self.row_names + max(cells, round(font(13).getlength(caption)))

    @property
    def panel_height(self) -> int:
        return CAPTION_HEIGHT + INDEX_HEIGHT + self.rows.length * CELL

    def caption(self, piece: int) -> str:
        name, block = self.name, piece // self.slices
        if self.slices > 1:
            leading = np.unravel_index(piece % self.slices, self.shape[:-2])
            name += "[" + ", ".join(str(int(index)) for index in leading) + "]"
        if self.space == "global":
            return name
        ending = ", one row per thread" if self.space == "local" else ""
        return f"{name} of block {block}{ending}"

    # ------------------------------------------------------------ what is not drawn

    def what_is_left_out(self, touched: int) -> list[str]:
        """touched: how many pieces are."""
        row_name = "threads" if self.space == "local" else "rows"
        column_name = "columns" if self.rows.total > 1 else "elements"
        parts = ((row_name, self.rows), (column_name, self.columns))
        notes = [f"only {name} {part}" for name, part in parts if part.cropped]
        if len(self.panels) < touched:
            notes.append(f"only {len(self.panels)} of {touched:,} such panels")
        return notes

    def is_drawn(self, accesses: Accesses) -> np.ndarray:
        """Which accesses, (n,) bool, lie in the part that is drawn."""
        in_window = self.rows.holds(accesses.row) & self.columns.holds(accesses.column)
        return in_window & np.isin(accesses.piece, list(self.panels))

    def hidden(self, event: AccessEvent) -> int:
        """How many of an event's accesses lie outside that part, or outside the array."""
        return len(event.element) - int(self.is_drawn(self.accesses(event)).sum())

    # ------------------------------------------------------------ drawing

    def draw(self, draw: ImageDraw.ImageDraw, x: int, y: int, event: AccessEvent) -> None:
        """Draw the array with one event's accesses; (x, y) is the top left corner."""
        for panel in self.panels.values():
            self.draw_panel(draw, x + panel.x, y + panel.y, panel.caption)
        for (piece, row, column), who in self.touched_cells(event).items():
            panel = self.panels[piece]
            left, top = self.corner(x + panel.x, y + panel.y, row, column)
            draw_mark(draw, left, top, event.kind, who)
        self.draw_wrong_cells(draw, x, y, event)
        for i, note in enumerate(self.notes):
            position = (x, y + self.panel_bottom + 3 + i * NOTE_HEIGHT)
            draw.text(position, note, MUTED, font(13), "la")

    def draw_wrong_cells(
        self, draw: ImageDraw.ImageDraw, x: int, y: int, event: AccessEvent
    ) -> None:
        """Frame the elements that the event's problem is about."""
        if not event.marked:
            return
        accesses = self.accesses(event, event.marked)
        drawn = self.is_drawn(accesses)
        for piece, row, column in zip(
            *(part[drawn].tolist() for part in accesses[:3]), strict=True
        ):
            panel = self.panels[piece]
            row, column = row - self.rows.first, column - self.columns.first
            draw_wrong(draw, *self.corner(x + panel.x, y + panel.y, row, column))

    def touched_cells(
        self, event: AccessEvent
    ) -> dict[tuple[int, int, int], list[tuple[int, int]]]:
        """{(piece, row, column): [(block, thread), ...]} of the cells that are drawn."""
        accesses = self.accesses(event)
        drawn = self.is_drawn(accesses)
        cells: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        for piece, row, column, block, thread in zip(
            *(part[drawn].tolist() for part in accesses), strict=True
        ):
            cell = (piece, row - self.rows.first, column - self.columns.first)
            cells.setdefault(cell, []).append((block, thread))
        return cells

    def corner(self, x: int, y: int, row: int, column: int) -> tuple[int, int]:
        top = y + CAPTION_HEIGHT + INDEX_HEIGHT + row * CELL
        return x + self.row_names + column * CELL, top

    def draw_panel(self, draw: ImageDraw.ImageDraw, x: int, y: int, caption: str) -> None:
        draw.text((x + self.row_names, y), caption, INK, font(13), "la")
        for column in range(self.columns.length):
            left, top = self.corner(x, y, 0, column)
            name = str(self.columns.first + column)
            draw.text((left + CELL // 2 - 1, top - 3), name, MUTED, fitting(name, 11), "ms")
        for row in range(self.rows.length):
            left, top = self.corner(x, y, row, 0)
            if self.row_names:
                name = str(self.rows.first + row)
                draw.text((left - 5, top + CELL // 2 - 1), name, MUTED, font(11), "rm")
            for column in range(self.columns.length):
                left, top = self.corner(x, y, row, column)
                draw.rectangle(cell_box(left, top), UNTOUCHED)


def matrix_of(space: str, shape: tuple[int, ...], threads: int) -> tuple[int, int]:
    """(rows, columns) in which an array is drawn; a local one has one row per thread."""
    if space == "local":
        return threads, math.prod(shape)
    rows, columns = (1, 1, *shape)[-2:]
    return rows, columns


def window(touched: np.ndarray, total: int, most: int, wrong: Sequence[int] = ()) -> Window:
    """Everything if it is few, otherwise what is touched, from its start.

    wrong: what has to be seen, if there is anything: then the window is where the first of it is.
    """
    if total <= most or len(touched) == 0:
        return Window(0, min(total, most), total)
    first, last = int(touched.min()), int(touched.max())
    if wrong and wrong[0] - first >= most:
        first = min(wrong[0] - most // 2, total - most)
    return Window(first, min(last - first + 1, most), total)
