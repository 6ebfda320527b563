"""The command's picture of two histograms: before and after, with levels and running sums."""

import numpy as np

from kernels.files.plot import Sheet
from kernels.files.style import GRID, INK, MUTED, PAPER, Colour

from .contrast_of_a_picture import BINS, PER_MILLE, Measured

BAR = 2.5  # pixels per bin
HEIGHT, LEFT, TOP, BETWEEN = 190, 60, 58, 96
BARS, RUNNING, LEVEL = (0, 114, 178), (230, 140, 0), (213, 40, 40)


def histogram_picture(before: Measured, after: Measured) -> np.ndarray:
    """(height, width, 3) uint8."""
    width = BINS * BAR
    sheet = Sheet(round(width + 2 * LEFT), TOP + 2 * HEIGHT + BETWEEN + 70)
    draw(sheet, TOP, "before", before)
    levels = [
        (before.dark, f"{PER_MILLE[0]} of 1,000"),
        (before.bright, f"{PER_MILLE[1]} of 1,000"),
    ]
    for level, words in levels:
        x = LEFT + (level + 0.5) * BAR
        sheet.line([(x, TOP), (x, TOP + HEIGHT + 6)], LEVEL, 1.4)
        sheet.text(x, TOP + HEIGHT + 10, words, LEVEL, 12, "ma")
    draw(sheet, TOP + HEIGHT + BETWEEN, "after", after)
    bottom = TOP + 2 * HEIGHT + BETWEEN
    sheet.text(LEFT, bottom + 10, "black", MUTED, 13, "la")
    sheet.text(LEFT + width, bottom + 10, "white", MUTED, 13, "ra")
    legend(sheet, LEFT, bottom + 36, BARS, "pixels per bin")
    legend(
        sheet, LEFT + 160, bottom + 36, RUNNING, "running sum: pixels in this bin or a darker one"
    )
    return sheet.finished()


def draw(sheet: Sheet, top: float, title: str, found: Measured) -> None:
    bottom = top + HEIGHT
    sheet.text(LEFT, top - 36, title, INK, 18, "la")
    sheet.line([(LEFT, bottom), (LEFT + BINS * BAR, bottom)], GRID, 1)
    # A few pixels of one brightness would make all other bars hairlines: those are cut, and marked.
    highest = max(1.0, float(np.sort(found.counts)[-3]))
    cut = [f"{count:,}" for count in found.counts if count > highest]
    if cut:
        words = f"cut, as they are higher: {' and '.join(cut)} pixels"
        sheet.text(LEFT + BINS * BAR, top - 24, words, MUTED, 13, "ra")
    for number, count in enumerate(found.counts):
        height = min(1.0, count / highest) * HEIGHT
        x = LEFT + (number + 0.5) * BAR
        if height >= 0.3:
            sheet.line([(x, bottom), (x, bottom - height)], BARS, BAR - 0.6)
        if count > highest:
            sheet.line([(x, top - 2), (x, top - 8)], BARS, BAR - 0.6)
            sheet.line([(x - 5, top + 8), (x + 5, top - 6)], PAPER, 2)
    share = found.running / max(1, found.running[-1])
    points = [(LEFT + (i + 0.5) * BAR, bottom - value * HEIGHT) for i, value in enumerate(share)]
    sheet.line(points, RUNNING, 2)


def legend(sheet: Sheet, x: float, y: float, colour: Colour, words: str) -> None:
    sheet.line([(x, y + 8), (x + 22, y + 8)], colour, 4)
    sheet.text(x + 30, y, words, INK, 13, "la")
