"""Draw why a check failed: what was expected, what came, where they differ, and the blocks' borders."""

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.atomic import write_atomically
from kernels.files.style import INK, MUTED, PAPER, font

UNWRITTEN = 255, 0, 200  # no picture has much of it
NOT_FINITE = 255, 200, 0
RIGHT, SLIGHT, LARGE = (240, 241, 243), (244, 190, 150), (178, 24, 43)
BLOCK_LINE = 30, 110, 220

PANEL = 300  # drawn size of the longer side, about
MAX_CELL = 40
LEFT, GAP, TOP, BOTTOM = 30, 30, 92, 66
MAX_SHOWN = 400  # rows or columns; of larger arrays every n-th is shown
NARROWEST, THINNEST = 160, 8


def draw_check(name, expected, got, sentinel, tolerance, path, title, threads=None):
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
    view = View(got.shape[:2], threads)
    panels = [
        ("expected", in_colours(expected, low, high), f"{low:.3g} (dark) to {high:.3g} (light)"),
        ("got", mark(in_colours(got, low, high), unwritten, got), legend(unwritten, got)),
        ("error", error_colours(error, tolerance, unwritten),
         describe_error(error, tolerance, unwritten)),
    ]  # fmt: skip
    picture = paint(panels, view, f"{title}{layer}", f"{name}, shape {got.shape}")
    write_atomically(path, lambda file: picture.save(file, "PNG"))


# ---------------------------------------------------------------- from arrays to matrices


def as_matrices(expected, got, error):
    """The arrays as (rows, columns) or (rows, columns, 3), and the words that name the layer."""
    if expected.size == 0:
        return (np.zeros((1, 1)),) * 3 + (" (empty)",)
    if expected.ndim == 0:
        return expected.reshape(1, 1), got.reshape(1, 1), error.reshape(1, 1), ""
    if expected.ndim == 1:
        columns = expected.size if expected.size <= 64 else 64
        return (*(folded(array, columns) for array in (expected, got, error)), "")
    words = ""
    while expected.ndim > 3 or (expected.ndim == 3 and expected.shape[2] != 3):
        sums = np.nan_to_num(error, nan=np.inf).reshape(len(error), -1).sum(axis=1)
        worst = int(sums.argmax())
        words += f" [{worst}]"
        expected, got, error = expected[worst], got[worst], error[worst]
    return expected, got, error, words


def folded(array, columns):
    """A long row as a matrix; the rest of its last row repeats the last element."""
    rows = -(-array.size // columns)
    return np.pad(array, (0, rows * columns - array.size), mode="edge").reshape(rows, columns)


def span(expected):
    finite = expected[np.isfinite(expected)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if expected.ndim == 3 and low >= 0 and high <= 1:
        return 0.0, 1.0
    return (low, high) if high > low else (low - 0.5, low + 0.5)


# ---------------------------------------------------------------- colours


def in_colours(matrix, low, high):
    with np.errstate(invalid="ignore", over="ignore"):
        shade = np.nan_to_num(np.clip((matrix - low) / (high - low), 0, 1))
    if shade.ndim == 2:
        shade = np.repeat(shade[:, :, np.newaxis], 3, axis=2)
    return np.round(shade * 255).astype(np.uint8)


def mark(colours, unwritten, got):
    colours = colours.copy()
    finite = np.isfinite(got).reshape(*got.shape[:2], -1).all(axis=2)
    colours[~finite] = NOT_FINITE
    colours[unwritten] = UNWRITTEN
    return colours


def legend(unwritten, got):
    words = []
    if unwritten.any():
        words.append("pink: never written")
    if not np.isfinite(got).all():
        words.append("yellow: NaN or infinite")
    return "; ".join(words) or "same scale"


def error_colours(error, tolerance, unwritten):
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


def describe_error(error, tolerance, unwritten):
    finite = error[~unwritten]
    finite = finite[np.isfinite(finite)]
    wrong = np.count_nonzero(~(error <= tolerance))
    if not wrong:
        return "all right"
    return f"{wrong:,} wrong; largest {finite.max():.3g}" if finite.size else f"{wrong:,} wrong"


# ---------------------------------------------------------------- drawing


class View:
    """How large an element is drawn, and which are shown."""

    def __init__(self, shape, threads):
        self.every = max(1, -(-max(shape) // MAX_SHOWN))
        self.rows, self.columns = (-(-size // self.every) for size in shape)
        cell = PANEL / max(self.rows, self.columns)
        # Elements are squares, unless the panel would be too narrow to see anything.
        self.cell_width = whole(max(cell, NARROWEST / self.columns))
        self.cell_height = whole(max(cell, THINNEST / self.rows))
        self.width = round(self.columns * self.cell_width)
        self.height = round(self.rows * self.cell_height)
        self.borders_x, self.borders_y = self.borders(threads)

    def borders(self, threads):
        """Where blocks meet, in pixels of the panel."""
        if threads is None:
            return [], []
        _, dimensions, block = threads
        if dimensions == 1:
            rows = block if isinstance(block, int) else block[0]
            return [], self.lines(rows * self.cell_height, self.height)
        return (
            self.lines(block[0] * self.cell_width, self.width),
            self.lines(block[1] * self.cell_height, self.height),
        )

    def lines(self, block, length):
        step = block / self.every
        # Lines closer than this would hide what they divide.
        return [] if step < 6 else [round(x) for x in np.arange(step, length - 1, step)]


def whole(cell):
    cell = min(MAX_CELL, cell)
    return cell if cell < 1 else int(cell)


def paint(panels, view, title, subtitle):
    room = max(view.width, 230)
    size = LEFT * 2 + 3 * room + 2 * GAP, TOP + view.height + BOTTOM
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((LEFT, 14), title, INK, font(18), "la")
    for number, (heading, colours, words) in enumerate(panels):
        x = LEFT + number * (room + GAP)
        draw.text((x, 50), heading, INK, font(16), "la")
        draw.text((x, 71), words, MUTED, font(13), "la")
        shown = Image.fromarray(colours[:: view.every, :: view.every])
        panel = shown.resize((view.width, view.height), Image.Resampling.NEAREST)
        sheet.paste(panel, (x, TOP))
        draw_blocks(draw, view, x)
    below = subtitle
    if view.borders_x or view.borders_y:
        below += "; blue: borders of blocks"
    if view.every > 1:
        below += f"; every {view.every}th row and column"
    draw.text((LEFT, TOP + view.height + 22), below, MUTED, font(14), "la")
    return sheet


def draw_blocks(draw, view, left):
    right, bottom = left + view.width - 1, TOP + view.height - 1
    for x in view.borders_x:
        draw.line((left + x, TOP, left + x, bottom), BLOCK_LINE)
    for y in view.borders_y:
        draw.line((left, TOP + y, right, TOP + y), BLOCK_LINE)
    draw.rectangle((left - 1, TOP - 1, right + 1, bottom + 1), outline=MUTED)
