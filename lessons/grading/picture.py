"""Draw why a check failed: what was expected, what came, where they differ, where blocks end."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.atomic import write_atomically
from kernels.files.style import INK, MUTED, PAPER, font
from lessons.grading.comparison import Threads, block_shape

UNWRITTEN = 255, 0, 200  # no picture has much of it
NOT_FINITE = 255, 200, 0
RIGHT, SLIGHT, LARGE = (240, 241, 243), (244, 190, 150), (178, 24, 43)
BLOCK_LINE = 30, 110, 220

PANEL_SIZE = 300  # drawn size of the longer side, about
MAX_CELL = 40
LEFT, GAP, TOP, BOTTOM = 30, 30, 92, 66
MAX_SHOWN = 400  # rows or columns; of larger arrays every n-th is shown
NARROWEST, THINNEST = 160, 8
NARROWEST_TEXT = 230
NEAREST = Image.Resampling.NEAREST


class Panel(NamedTuple):
    heading: str
    colours: np.ndarray  # (rows, columns, 3) uint8
    words: str  # what stands below the heading


def draw_check(
    name: str,
    expected: np.ndarray,
    got: np.ndarray,
    sentinel: float,
    tolerance: float,
    path: Path,
    title: str,
    threads: Threads | None = None,
) -> None:
    """Write a PNG with three panels: expected, got, error.

    expected, got: arrays of one shape and any number of axes; (H, W, 3) is drawn as colours, one
    with more axes as its worst layer. sentinel, tolerance, threads: see `diagnosis.diagnose`.
    Raises `InputError` if the file cannot be written.
    """
    expected, got = np.asarray(expected, np.float64), np.asarray(got, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got - expected)
    expected, got, error, layer = as_matrices(expected, got, error)
    unwritten = (got == sentinel).reshape(*got.shape[:2], -1).any(axis=2)
    low, high = span(expected)
    drawing = CheckDrawing(got.shape[:2], threads)
    panels = [
        Panel(
            "expected", in_colours(expected, low, high), f"{low:.3g} (dark) to {high:.3g} (light)"
        ),
        Panel("got", mark(in_colours(got, low, high), unwritten, got), legend(unwritten, got)),
        Panel(
            "error",
            error_colours(error, tolerance, unwritten),
            describe_error(error, tolerance, unwritten),
        ),
    ]
    picture = drawing.paint(panels, f"{title}{layer}", f"{name}, shape {got.shape}")
    write_atomically(path, lambda file: picture.save(file, "PNG"))


# ---------------------------------------------------------------- from arrays to matrices


Matrices = tuple[np.ndarray, np.ndarray, np.ndarray, str]


def as_matrices(expected: np.ndarray, got: np.ndarray, error: np.ndarray) -> Matrices:
    """The arrays as (rows, columns) or (rows, columns, 3), and the words that name the layer."""
    if expected.size == 0:
        empty = np.zeros((1, 1))
        return empty, empty, empty, " (empty)"
    if expected.ndim == 0:
        return expected.reshape(1, 1), got.reshape(1, 1), error.reshape(1, 1), ""
    if expected.ndim == 1:
        return folded(expected), folded(got), folded(error), ""
    words = ""
    while expected.ndim > 3 or (expected.ndim == 3 and expected.shape[2] != 3):
        sums = np.nan_to_num(error, nan=np.inf).reshape(len(error), -1).sum(axis=1)
        worst = int(sums.argmax())
        words += f" [{worst}]"
        expected, got, error = expected[worst], got[worst], error[worst]
    return expected, got, error, words


def folded(array: np.ndarray) -> np.ndarray:
    """A row as a matrix of up to 64 columns; the last row is filled up with the last element."""
    columns = min(array.size, 64)
    rows = -(-array.size // columns)
    return np.pad(array, (0, rows * columns - array.size), mode="edge").reshape(rows, columns)


def span(expected: np.ndarray) -> tuple[float, float]:
    """(lowest, highest) value to draw."""
    finite = expected[np.isfinite(expected)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if expected.ndim == 3 and low >= 0 and high <= 1:
        return 0.0, 1.0
    return (low, high) if high > low else (low - 0.5, low + 0.5)


# ---------------------------------------------------------------- colours


def in_colours(matrix: np.ndarray, low: float, high: float) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        shade = np.nan_to_num(np.clip((matrix - low) / (high - low), 0, 1))
    if shade.ndim == 2:
        shade = np.repeat(shade[:, :, np.newaxis], 3, axis=2)
    return np.round(shade * 255).astype(np.uint8)


def mark(colours: np.ndarray, unwritten: np.ndarray, got: np.ndarray) -> np.ndarray:
    colours = colours.copy()
    finite = np.isfinite(got).reshape(*got.shape[:2], -1).all(axis=2)
    colours[~finite] = NOT_FINITE
    colours[unwritten] = UNWRITTEN
    return colours


def legend(unwritten: np.ndarray, got: np.ndarray) -> str:
    words = []
    if unwritten.any():
        words.append("pink: never written")
    if not np.isfinite(got).all():
        words.append("yellow: NaN or infinite")
    return "; ".join(words) or "same scale"


def error_colours(error: np.ndarray, tolerance: float, unwritten: np.ndarray) -> np.ndarray:
    """Gray where right; orange to red where wrong, red at the largest error."""
    size = np.nan_to_num(error, nan=np.inf)
    size = size.reshape(*size.shape[:2], -1).max(axis=2)
    wrong = size > tolerance
    known = size[wrong & np.isfinite(size) & ~unwritten]
    largest = known.max() if known.size else 1.0
    with np.errstate(invalid="ignore"):
        share = np.clip(np.nan_to_num(size / largest, posinf=1.0), 0, 1)[:, :, np.newaxis]
    colours = np.array(SLIGHT) * (1 - share) + np.array(LARGE) * share
    colours[~wrong] = RIGHT
    return np.round(colours).astype(np.uint8)


def describe_error(error: np.ndarray, tolerance: float, unwritten: np.ndarray) -> str:
    finite = error[~unwritten]
    finite = finite[np.isfinite(finite)]
    wrong = np.count_nonzero(~(error <= tolerance))
    if not wrong:
        return "all right"
    return f"{wrong:,} wrong; largest {finite.max():.3g}" if finite.size else f"{wrong:,} wrong"


# ---------------------------------------------------------------- drawing


class CheckDrawing:
    """How large an element is drawn, which are shown, and where blocks end."""

    def __init__(self, shape: tuple[int, ...], threads: Threads | None) -> None:
        self.every = max(1, -(-max(shape) // MAX_SHOWN))
        self.rows, self.columns = (-(-size // self.every) for size in shape)
        cell = PANEL_SIZE / max(self.rows, self.columns)
        # Elements are squares, unless the panel would be too narrow to see anything.
        self.cell_width = whole(max(cell, NARROWEST / self.columns))
        self.cell_height = whole(max(cell, THINNEST / self.rows))
        self.width = round(self.columns * self.cell_width)
        self.height = round(self.rows * self.cell_height)
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

    def paint(self, panels: list[Panel], title: str, subtitle: str) -> Image.Image:
        room = max(self.width, NARROWEST_TEXT)
        size = LEFT * 2 + 3 * room + 2 * GAP, TOP + self.height + BOTTOM
        sheet = Image.new("RGB", size, PAPER)
        draw = ImageDraw.Draw(sheet)
        draw.text((LEFT, 14), title, INK, font(18), "la")
        for number, panel in enumerate(panels):
            x = LEFT + number * (room + GAP)
            draw.text((x, 50), panel.heading, INK, font(16), "la")
            draw.text((x, 71), panel.words, MUTED, font(13), "la")
            shown = Image.fromarray(panel.colours[:: self.every, :: self.every])
            sheet.paste(shown.resize((self.width, self.height), NEAREST), (x, TOP))
            self.paint_borders(draw, x)
        below = subtitle
        if self.borders_x or self.borders_y:
            below += "; blue: borders of blocks"
        if self.every > 1:
            below += f"; every {self.every}th row and column"
        draw.text((LEFT, TOP + self.height + 22), below, MUTED, font(14), "la")
        return sheet

    def paint_borders(self, draw: ImageDraw.ImageDraw, left: int) -> None:
        right, bottom = left + self.width - 1, TOP + self.height - 1
        for x in self.borders_x:
            draw.line((left + x, TOP, left + x, bottom), BLOCK_LINE)
        for y in self.borders_y:
            draw.line((left, TOP + y, right, TOP + y), BLOCK_LINE)
        draw.rectangle((left - 1, TOP - 1, right + 1, bottom + 1), outline=MUTED)


def whole(cell: float) -> float:
    """A cell's size in whole pixels, if it has at least one."""
    cell = min(MAX_CELL, cell)
    return cell if cell < 1 else int(cell)
