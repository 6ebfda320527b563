"""The rows of a picture of memory accesses: barriers, instructions, and notes between them."""

from bisect import bisect_right

from PIL import ImageDraw

from kernels.files.style import GRID, INK, MUTED, PAPER, font
from lessons.lab.simulator.events import AccessEvent
from lessons.lab.simulator.picture_array import NOTE_HEIGHT, ArrayDrawing
from lessons.lab.simulator.picture_cells import Typeface

MARGIN = 40
NUMBER_WIDTH, SOURCE_WIDTH = 44, 300
ARRAY_LEFT = MARGIN + NUMBER_WIDTH + SOURCE_WIDTH + 36
LINE_HEIGHT, ROW_PADDING = 20, 14

VERBS = {"read": "reads", "write": "writes", "atomic": "atomically updates"}


class PhaseStart:
    """The barrier that ends the phase before, if there was one, and a heading."""

    events = 0
    bar = 26

    def __init__(self, phase: int, last_phase: int | None) -> None:
        self.phase = phase
        # A phase in which no array is touched has no rows; its barriers merge into one bar.
        self.barriers = phase if last_phase is None else phase - last_phase
        self.height = 46 + (self.bar + 10 if self.barriers else 0)

    def draw(self, draw: ImageDraw.ImageDraw, y: int, width: int) -> None:
        if self.barriers:
            box = (MARGIN, y + 4, width - MARGIN - 1, y + 4 + self.bar)
            draw.rectangle(box, INK)
            name = "barrier" if self.barriers == 1 else f"{self.barriers} barriers"
            text = f"{name}: every thread of a block waits here for all the others"
            draw.text((MARGIN + 14, y + 4 + self.bar / 2), text, PAPER, font(15), "lm")
            y += self.bar + 10
        draw.text((MARGIN, y + 14), f"phase {self.phase}", INK, font(20), "la")


class Note:
    """One line of text about what is not there; it stands for `events` events."""

    height = 36

    def __init__(self, text: str, events: int) -> None:
        self.text, self.events = text, events

    def draw(self, draw: ImageDraw.ImageDraw, y: int, width: int) -> None:
        draw.text((MARGIN + NUMBER_WIDTH, y + 8), self.text, MUTED, font(16), "la")


class Instruction:
    """One event: the source line on the left, the array on the right."""

    events = 1

    def __init__(self, event: AccessEvent, array: ArrayDrawing, all_threads: int) -> None:
        """all_threads: of the launch."""
        self.event, self.array = event, array
        self.lines = wrapped(event.source, font(16), SOURCE_WIDTH, most=4)
        verb = f"{VERBS[event.kind]} {event.array} ({event.space})"
        self.verb = wrapped(verb, font(13), SOURCE_WIDTH)
        self.who = f"{len(event.block):,} of {counted(all_threads, 'thread')}"
        self.hidden = array.hidden(event)
        text_height = LINE_HEIGHT * len(self.lines) + NOTE_HEIGHT * (len(self.verb) + 1)
        array_height = array.height + (NOTE_HEIGHT if self.hidden else 0)
        self.height = max(text_height, array_height) + 2 * ROW_PADDING

    def draw(self, draw: ImageDraw.ImageDraw, y: int, width: int) -> None:
        draw.line((MARGIN, y, width - MARGIN - 1, y), GRID)
        y += ROW_PADDING
        self.draw_array(draw, y)
        left = MARGIN + NUMBER_WIDTH
        draw.text((left - 14, y), str(self.event.line), MUTED, font(16), "ra")
        for line in self.lines:
            draw.text((left, y), line, INK, font(16), "la")
            y += LINE_HEIGHT
        for line in [*self.verb, self.who]:
            draw.text((left, y + 2), line, MUTED, font(13), "la")
            y += NOTE_HEIGHT

    def draw_array(self, draw: ImageDraw.ImageDraw, y: int) -> None:
        self.array.draw(draw, ARRAY_LEFT, y, self.event)
        if self.hidden:
            text = f"accesses not drawn: {self.hidden:,} of {len(self.event.block):,}"
            draw.text((ARRAY_LEFT, y + self.array.height), text, MUTED, font(13), "la")


Row = PhaseStart | Note | Instruction


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def wrapped(text: str, typeface: Typeface, width: float, most: int = 2) -> list[str]:
    """The text in up to `most` lines no wider than `width`, broken at spaces where possible."""
    lines: list[str] = []
    while text and len(lines) < most:
        line = longest_start(text, typeface, width)
        if len(line) < len(text) and len(lines) == most - 1:
            line = longest_start(text, typeface, width - typeface.getlength("...")) + "..."
            return [*lines, line]
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
    return lines


def longest_start(text: str, typeface: Typeface, width: float) -> str:
    """The longest start of the text that fits, one character at least."""
    ends = range(1, len(text) + 1)
    end = max(1, bisect_right(ends, width, key=lambda end: typeface.getlength(text[:end])))
    if end == len(text):
        return text
    space = text.rfind(" ", 0, end + 1)
    return text[:space] if space > 0 else text[:end]
