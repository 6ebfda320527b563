"""The rows of a picture of memory accesses: barriers, instructions, and notes between them."""

from bisect import bisect_right

from PIL import ImageDraw

from .events import AccessEvent
from .picture_array import NOTE_HEIGHT, ArrayDrawing
from .picture_cells import WRONG, Typeface
from .style import GRID, INK, MUTED, PAPER, font

MARGIN = 40
NUMBER_WIDTH, SOURCE_WIDTH = 44, 300
ARRAY_LEFT = MARGIN + NUMBER_WIDTH + SOURCE_WIDTH + 36
LINE_HEIGHT, ROW_PADDING = 20, 14

VERBS = {
    "read": "reads",
    "write": "writes",
    "atomic": "atomically updates",
    "outside": "reaches outside of",
}
PROBLEM_WIDTH, MOST_PROBLEM_LINES = 540, 8


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


class Problem:
    """What is wrong, and has no place in an array."""

    events = 0

    def __init__(self, text: str) -> None:
        self.lines = wrapped(text, font(16), PROBLEM_WIDTH + SOURCE_WIDTH, MOST_PROBLEM_LINES)
        self.height = LINE_HEIGHT * len(self.lines) + 2 * ROW_PADDING

    def draw(self, draw: ImageDraw.ImageDraw, y: int, width: int) -> None:
        draw.line((MARGIN, y, width - MARGIN - 1, y), GRID)
        for number, line in enumerate(self.lines):
            place = MARGIN + NUMBER_WIDTH, y + ROW_PADDING + number * LINE_HEIGHT
            draw.text(place, line, WRONG, font(16), "la")


class Instruction:
    """One event: the source line on the left, the array on the right.

    What is wrong with it stands below the array, in red.
    """

    events = 1

    def __init__(self, event: AccessEvent, array: ArrayDrawing, all_threads: int) -> None:
        """all_threads: of the launch."""
        self.event, self.array = event, array
        self.lines = wrapped(event.source, font(16), SOURCE_WIDTH, most=4)
        verb = f"{VERBS[event.kind]} {event.array} ({event.space})"
        self.verb = wrapped(verb, font(13), SOURCE_WIDTH)
        self.who = f"{len(event.block):,} of {counted(all_threads, 'thread')}"
        # What misses the array is told by the problem.
        self.hidden = 0 if event.kind == "outside" else array.hidden(event)
        self.problem = wrapped(event.problem, font(14), PROBLEM_WIDTH, MOST_PROBLEM_LINES)
        text_height = LINE_HEIGHT * len(self.lines) + NOTE_HEIGHT * (len(self.verb) + 1)
        array_height = array.height + NOTE_HEIGHT * (bool(self.hidden) + len(self.problem))
        self.height = max(text_height, array_height) + 2 * ROW_PADDING

    def draw(self, draw: ImageDraw.ImageDraw, y: int, width: int) -> None:
        draw.line((MARGIN, y, width - MARGIN - 1, y), GRID)
        y += ROW_PADDING
        self.draw_array(draw, y)
        left = MARGIN + NUMBER_WIDTH
        colour = WRONG if self.problem else MUTED
        draw.text((left - 14, y), str(self.event.line), colour, font(16), "ra")
        for line in self.lines:
            draw.text((left, y), line, INK, font(16), "la")
            y += LINE_HEIGHT
        for line in [*self.verb, self.who]:
            draw.text((left, y + 2), line, MUTED, font(13), "la")
            y += NOTE_HEIGHT

    def draw_array(self, draw: ImageDraw.ImageDraw, y: int) -> None:
        self.array.draw(draw, ARRAY_LEFT, y, self.event)
        y += self.array.height
        if self.hidden:
            text = f"accesses not drawn: {self.hidden:,} of {len(self.event.block):,}"
            draw.text((ARRAY_LEFT, y), text, MUTED, font(13), "la")
            y += NOTE_HEIGHT
        for line in self.problem:
            draw.text((ARRAY_LEFT, y + 2), line, WRONG, font(14), "la")
            y += NOTE_HEIGHT


Row = PhaseStart | Note | Problem | Instruction


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
