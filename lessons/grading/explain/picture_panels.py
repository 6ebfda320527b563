"""A check's picture: arrays as coloured squares, with their indices and a scale of colours."""

from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.style import INK, MUTED, PAPER, Colour, font
from lessons.grading.explain.comparison import Threads, block_shape

BLOCK_LINE = 30, 110, 220

PANEL_SIZE = 300  # drawn size of the longer side, about
MAX_CELL = 40
MARGIN, GAP, TOP = 30, 34, 92
MAX_SHOWN = 400  # rows or columns; of larger arrays every n-th is shown
NARROWEST, THINNEST = 160, 8
NARROWEST_TEXT = 230
INDEX_SIZE, INDEX_ROOM = 12, 10  # of the numbers at the axes; between two of them
SCALE_WIDTH, SCALE_HEIGHT = 110, 10
BELOW = 88  # height of what stands below a panel: indices, scale, words
NEAREST = Image.Resampling.NEAREST


class Scale(NamedTuple):
    """What the colours of a panel mean: those of its lowest and of its highest number."""

    low: str
    high: str
    low_colour: Colour
    high_colour: Colour


class Panel(NamedTuple):
    heading: str
    words: str  # below the heading
    colours: np.ndarray  # (rows, columns, 3) uint8
    scale: Scale


class CheckDrawing:
    """How large an element is drawn, which are shown, and where blocks end.

    shape: (rows, columns). threads: see `comparison.Threads`. elements_per_row: what row numbers
    count in, 1 unless an array of one axis is drawn in several rows.
    """

    def __init__(
        self, shape: tuple[int, ...], threads: Threads | None, elements_per_row: int = 1
    ) -> None:
        self.every = max(1, -(-max(shape) // MAX_SHOWN))
        self.elements_per_row = elements_per_row
        self.rows, self.columns = (-(-size // self.every) for size in shape)
        cell = PANEL_SIZE / max(self.rows, self.columns)
        # Elements are squares, unless the panel would be too narrow to see anything.
        self.cell_width = whole(max(cell, NARROWEST / self.columns))
        self.cell_height = whole(max(cell, THINNEST / self.rows))
        self.width = round(self.columns * self.cell_width)
        self.height = round(self.rows * self.cell_height)
        last_row = str(self.row_number(self.rows - 1))
        self.left = round(font(INDEX_SIZE).getlength(last_row)) + 6  # room for row numbers
        self.borders_x: list[int] = []
        self.borders_y: list[int] = []
        if threads is None:
            return
        rows, *columns = block_shape(threads)
        self.borders_y = self.borders(rows * self.cell_height, self.height)
        if columns:
            self.borders_x = self.borders(columns[0] * self.cell_width, self.width)

    def borders(self, block: float, length: int) -> list[int]:
        """Where blocks of this size meet, in pixels of the panel."""
        step = block / self.every
        # Lines closer than this would hide what they divide.
        return [] if step < 6 else [round(x) for x in np.arange(step, length - 1, step)]

    def row_number(self, row: int) -> int:
        """The index of a row that is shown; of an array of one axis, that of its first element."""
        return row * self.every * self.elements_per_row

    def paint(self, panels: list[Panel], title: str, subtitle: str) -> Image.Image:
        """One sheet: the panels side by side, the title above, the subtitle below."""
        room = self.left + max(self.width, NARROWEST_TEXT)
        below = subtitle
        if self.borders_x or self.borders_y:
            below += "; blue: borders of blocks"
        if self.every > 1:
            below += f"; every {self.every}th row and column"
        widest = max(font(18).getlength(title), font(14).getlength(below))
        width = max(3 * room + 2 * GAP, round(widest)) + 2 * MARGIN
        sheet = Image.new("RGB", (width, TOP + self.height + BELOW), PAPER)
        draw = ImageDraw.Draw(sheet)
        draw.text((MARGIN, 14), title, INK, font(18), "la")
        for number, panel in enumerate(panels):
            x = MARGIN + number * (room + GAP) + self.left
            draw.text((x, 50), panel.heading, INK, font(16), "la")
            draw.text((x, 71), panel.words, MUTED, font(13), "la")
            shown = Image.fromarray(panel.colours[:: self.every, :: self.every])
            sheet.paste(shown.resize((self.width, self.height), NEAREST), (x, TOP))
            self.draw_borders(draw, x)
            self.draw_indices(draw, x)
            draw_scale(sheet, x, TOP + self.height + 32, panel.scale)
        draw.text((MARGIN + self.left, TOP + self.height + 58), below, MUTED, font(14), "la")
        return sheet

    def draw_borders(self, draw: ImageDraw.ImageDraw, left: int) -> None:
        right, bottom = left + self.width - 1, TOP + self.height - 1
        for x in self.borders_x:
            draw.line((left + x, TOP, left + x, bottom), BLOCK_LINE)
        for y in self.borders_y:
            draw.line((left, TOP + y, right, TOP + y), BLOCK_LINE)
        draw.rectangle((left - 1, TOP - 1, right + 1, bottom + 1), outline=MUTED)

    def draw_indices(self, draw: ImageDraw.ImageDraw, left: int) -> None:
        """Row numbers to the left of the panel, column numbers below it."""
        typeface = font(INDEX_SIZE)
        for row in marked(self.rows, self.cell_height, INDEX_SIZE):
            y = TOP + (row + 0.5) * self.cell_height
            draw.text((left - 5, y), str(self.row_number(row)), MUTED, typeface, "rm")
        widest = typeface.getlength(str((self.columns - 1) * self.every))
        for column in marked(self.columns, self.cell_width, widest):
            x = left + (column + 0.5) * self.cell_width
            number = str(column * self.every)
            draw.text((x, TOP + self.height + 5), number, MUTED, typeface, "ma")


def marked(count: int, cell: float, size: float) -> range:
    """Which of `count` cells get a number, if the numbers take up `size` pixels each."""
    strides = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    return range(0, count, next(n for n in strides if n * cell >= size + INDEX_ROOM))


def draw_scale(sheet: Image.Image, x: int, y: int, scale: Scale) -> None:
    """From the lowest number's colour to the highest's, with both numbers."""
    draw, typeface = ImageDraw.Draw(sheet), font(INDEX_SIZE)
    middle = y + SCALE_HEIGHT / 2
    draw.text((x, middle), scale.low, MUTED, typeface, "lm")
    x += round(typeface.getlength(scale.low)) + 7
    share = np.linspace(0, 1, SCALE_WIDTH)[np.newaxis, :, np.newaxis]
    colours = np.array(scale.low_colour) * (1 - share) + np.array(scale.high_colour) * share
    bar = Image.fromarray(np.round(colours).astype(np.uint8))
    sheet.paste(bar.resize((SCALE_WIDTH, SCALE_HEIGHT)), (x, y))
    draw.rectangle((x - 1, y - 1, x + SCALE_WIDTH, y + SCALE_HEIGHT), outline=MUTED)
    draw.text((x + SCALE_WIDTH + 7, middle), scale.high, MUTED, typeface, "lm")


def whole(cell: float) -> float:
    """A cell's size in whole pixels, if it has at least one."""
    cell = min(MAX_CELL, cell)
    return cell if cell < 1 else int(cell)
