"""Draw why a budget was exceeded: bars for what was counted, what is allowed, and what we need."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from kernels.files.atomic import write_atomically
from kernels.files.style import GRID, INK, MUTED, PAPER, Colour, font
from lessons.grading.explain.messages import short_number
from lessons.lab.simulator.style import drawable

OVER, OURS = (178, 24, 43), (40, 120, 181)
WIDTH, MARGIN = 860, 30
NAMES, NUMBERS = 110, 120  # room to the left and to the right of the bars
BARS = MARGIN + NAMES  # where they begin
LENGTH = WIDTH - BARS - NUMBERS - MARGIN  # of the longest
TOP, BAR, STEP = 84, 30, 46
THINNEST = 3  # a bar that is not 0 can be seen
LINE = 20  # height of a line of words
TITLE, WORDS, SMALL = 18, 15, 13
CODE_CHARACTERS = 100


def draw_budget(
    title: str,
    what: str,
    yours: float,
    ours: float,
    allowed: float,
    advice: str,
    code: Sequence[str],
    path: Path,
) -> None:
    """Write a PNG with two bars, and a line at the most that is allowed.

    what: what was counted, such as "reads of each number of a from global memory". yours, ours,
    allowed: at least 0, finite. advice: what to do. code: lines of the student's file.
    Raises `InputError` if the file cannot be written.
    """
    bars = ("yours", yours, OVER), ("ours", ours, OURS)
    lines = [(text, INK) for text in wrapped(advice)]
    lines += [(drawable(text.strip())[:CODE_CHARACTERS], MUTED) for text in code]
    bottom = TOP + len(bars) * STEP
    height = bottom + 34 + LINE * len(lines) + MARGIN
    sheet = Image.new("RGB", (WIDTH, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((MARGIN, 14), shortened(drawable(title), TITLE), INK, font(TITLE), "la")
    draw.text((MARGIN, 46), shortened(drawable(what), WORDS), MUTED, font(WORDS), "la")
    longest = max(yours, allowed, ours)
    for number, bar in enumerate(bars):
        draw_bar(draw, *bar, TOP + number * STEP, longest)
    draw_limit(draw, allowed, longest, bottom)
    for number, (text, colour) in enumerate(lines):
        draw.text((MARGIN, bottom + 34 + number * LINE), text, colour, font(SMALL), "la")
    write_atomically(path, lambda file: sheet.save(file, "PNG"))


def draw_bar(
    draw: ImageDraw.ImageDraw, name: str, value: float, colour: Colour, y: int, longest: float
) -> None:
    """The name, the bar, the number; a gray ground shows how long a bar may be."""
    middle = y + BAR / 2
    length = length_of(value, longest)
    draw.text((BARS - 12, middle), name, INK, font(WORDS), "rm")
    draw.rectangle((BARS, y, BARS + LENGTH, y + BAR), fill=GRID)
    if length:
        draw.rectangle((BARS, y, BARS + length, y + BAR), fill=colour)
    draw.text((BARS + LENGTH + 12, middle), short_number(value), INK, font(WORDS), "lm")


def draw_limit(draw: ImageDraw.ImageDraw, allowed: float, longest: float, bottom: int) -> None:
    """A line across the bars, and below it what it means."""
    x = BARS + length_of(allowed, longest)
    draw.line((x, TOP - 8, x, bottom), INK, 2)
    text = f"allowed: {short_number(allowed)}"
    half = font(SMALL).getlength(text) / 2
    draw.text((max(x, MARGIN + half), bottom + 4), text, INK, font(SMALL), "ma")


def length_of(value: float, longest: float) -> int:
    if value <= 0 or longest <= 0:
        return 0
    return max(THINNEST, round(LENGTH * value / longest))


def wrapped(text: str) -> list[str]:
    """Lines that fit on the sheet."""
    characters = int((WIDTH - 2 * MARGIN) / (font(SMALL).getlength("n") * 0.92))
    return textwrap.wrap(drawable(text), characters)


def shortened(text: str, size: int) -> str:
    while font(size).getlength(text) > WIDTH - 2 * MARGIN:
        text = text[:-4].rstrip(" .") + "..."
    return text
