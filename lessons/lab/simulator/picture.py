"""The picture of accesses."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby
from os import PathLike

from PIL import Image, ImageDraw

from ..dimensions import Dim3, as_dim3, volume
from ..files import write_whole
from .events import AccessEvent
from .findings import counted
from .picture_array import (
    BLOCK_COLOURS,
    CELL,
    GAP,
    MAX_ARRAY_WIDTH,
    NOTE_HEIGHT,
    UNTOUCHED,
    WRONG,
    ArrayDrawing,
    ArrayKey,
    Typeface,
    array_of,
    cell_box,
    colour_of,
    draw_mark,
)
from .style import GRID, INK, MUTED, PAPER, drawable, font

# ---------------------------------------------------------------- rows: instructions


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


# ---------------------------------------------------------------- the picture


MIN_WIDTH, MAX_WIDTH, MAX_HEIGHT = 1000, ARRAY_LEFT + MAX_ARRAY_WIDTH + MARGIN, 4000
HEADER_HEIGHT = MARGIN + 164
MOST_ROUNDS = 4  # of a loop
SHOWN_BESIDE_A_PROBLEM = 2  # rows
MOST_PROBLEMS = 2  # rows


def draw_accesses(
    events: Sequence[AccessEvent],
    path: str | PathLike[str],
    title: str,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    problems: Sequence[str] = (),
) -> None:
    """Draw the events of one kernel launch into the PNG file `path`.

    events: none gives a picture that says so. title: one line of text. grid, block: the launch's
    blocks and threads. problems: what is wrong and stands at no event. The picture is at most
    2,400 x 4,000 pixels. Raises InputError if the file cannot be written.
    """
    grid, block = as_dim3(grid, "grid"), as_dim3(block, "block")
    title = drawable(title)
    events = [
        event._replace(
            source=drawable(event.source),
            array=drawable(event.array),
            problem=drawable(event.problem),
        )
        for event in events
    ]
    rows = plan(events, volume(grid), volume(block), [drawable(problem) for problem in problems])
    image = paint(rows, title, grid, block)
    write_whole(path, lambda file: image.save(file, "PNG"))


# ---------------------------------------------------------------- what goes into the picture


def plan(
    events: Sequence[AccessEvent], blocks: int, threads: int, problems: Sequence[str] = ()
) -> list[Row]:
    """The picture's rows from top to bottom. blocks, threads: of the grid, of a block."""
    ending: list[Row] = [Problem(problem) for problem in problems]
    if not events:
        return [Note("No array was touched: there is nothing to draw.", 0), *ending]
    in_time_order = sorted(events, key=lambda event: (event.phase, event.order))
    first, beyond = near_problems(in_time_order)
    arrays = array_drawings(in_time_order[first:beyond], threads)
    later = len(in_time_order) - beyond
    rows: list[Row] = []
    if first:
        rows.append(Note(f"... {counted(first, 'earlier row')}", first))
    last_phase = None
    for phase, group in groupby(in_time_order[first:beyond], key=lambda event: event.phase):
        rows.append(PhaseStart(phase, last_phase))
        rows += instructions(group, arrays, blocks * threads)
        last_phase = phase
    if later:
        rows.append(Note(f"... {counted(later, 'later row')}", later))
    return [*cut(rows, sum(row.height for row in ending)), *ending]


def near_problems(events: Sequence[AccessEvent]) -> tuple[int, int]:
    """(first, beyond the last) of the events to draw: all, or those around the problems."""
    problems = [number for number, event in enumerate(events) if event.problem]
    if not problems:
        return 0, len(events)
    first = max(0, problems[0] - SHOWN_BESIDE_A_PROBLEM)
    last = problems[:MOST_PROBLEMS][-1]
    return first, min(len(events), last + 1 + SHOWN_BESIDE_A_PROBLEM)


def array_drawings(events: Iterable[AccessEvent], threads: int) -> dict[ArrayKey, ArrayDrawing]:
    """One drawing per array, made of all its events: it looks the same in every row.

    If something is wrong, a part of each array around that is enough.
    """
    events = list(events)
    near = any(event.problem for event in events)
    touching: dict[ArrayKey, list[AccessEvent]] = {}
    for event in events:
        touching.setdefault(array_of(event), []).append(event)
    return {array: ArrayDrawing(group, threads, near) for array, group in touching.items()}


def instructions(
    events: Iterable[AccessEvent], arrays: dict[ArrayKey, ArrayDrawing], all_threads: int
) -> list[Row]:
    """One row per event of one phase; of a loop, rows for the first rounds and then a note."""
    rows: list[Row] = []
    rounds: dict[tuple[int, str, str], int] = {}
    repeated: list[int] = []
    for event in events:
        place = (event.line, event.array, event.kind)
        rounds[place] = rounds.get(place, 0) + 1
        if rounds[place] > MOST_ROUNDS and not event.problem:
            repeated.append(event.line)
            continue
        rows += note_on_repeated(repeated)
        repeated = []
        rows.append(Instruction(event, arrays[array_of(event)], all_threads))
    return rows + note_on_repeated(repeated)


def note_on_repeated(lines: list[int]) -> list[Row]:
    if not lines:
        return []
    numbers = ", ".join(str(line) for line in sorted(set(lines)))
    named = "line" if len(set(lines)) == 1 else "lines"
    text = f"... {counted(len(lines), 'more row')} like these, of {named} {numbers}"
    return [Note(text, len(lines))]


def cut(rows: list[Row], below: int) -> list[Row]:
    """Leave out the end of what would become too long, and say so. below: height of other rows."""
    kept = how_many_fit(rows, MAX_HEIGHT - HEADER_HEIGHT - MARGIN - Note.height - below)
    if kept == len(rows):
        return rows
    # A barrier with nothing below it would look like the kernel's end.
    if isinstance(rows[kept - 1], PhaseStart):
        kept -= 1
    missing = sum(row.events for row in rows[kept:])
    phases = sum(isinstance(row, PhaseStart) for row in rows[kept:])
    text = f"The picture ends here: {counted(missing, 'more row')} left out"
    if phases:
        text += f", {counted(phases, 'more barrier')} among them"
    return [*rows[:kept], Note(text + ".", missing)]


def how_many_fit(rows: list[Row], height: int) -> int:
    for number, row in enumerate(rows):
        height -= row.height
        if height < 0:
            return number
    return len(rows)


# ---------------------------------------------------------------- the sheet


def paint(rows: list[Row], title: str, grid: Dim3, block: Dim3) -> Image.Image:
    """Put the rows under one another, below the title and the legend."""
    widths = [row.array.width for row in rows if isinstance(row, Instruction)]
    width = max([MIN_WIDTH] + [ARRAY_LEFT + array_width + MARGIN for array_width in widths])
    height = HEADER_HEIGHT + sum(row.height for row in rows) + MARGIN
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)
    draw_header(draw, width, title, grid, block)
    y = HEADER_HEIGHT
    for row in rows:
        row.draw(draw, y, width)
        y += row.height
    return image


def draw_header(draw: ImageDraw.ImageDraw, width: int, title: str, grid: Dim3, block: Dim3) -> None:
    [title] = wrapped(title, font(26), width - 2 * MARGIN, most=1) or [""]
    draw.text((MARGIN, MARGIN - 8), title, INK, font(26), "la")
    time = "Time runs downwards; each row is one instruction, executed by its threads all at once."
    numbers = f"{numbering('Block', 'block', grid)} {numbering('Thread', 'thread', block)}"
    draw.text((MARGIN, MARGIN + 32), time, MUTED, font(14), "la")
    draw.text((MARGIN, MARGIN + 52), numbers.strip(), MUTED, font(14), "la")
    draw_kinds(draw, MARGIN, MARGIN + 82)
    draw_blocks(draw, MARGIN, MARGIN + 120, volume(grid))


def numbering(name: str, index: str, sizes: Dim3) -> str:
    """How a two- or three-dimensional index becomes one number; with one dimension, nothing."""
    columns, rows, layers = sizes
    if rows * layers == 1:
        return ""
    terms = [f"{index}Idx.x", f"{columns} * {index}Idx.y"]
    if layers > 1:
        terms.append(f"{columns * rows} * {index}Idx.z")
    return f"{name} number = {' + '.join(terms)}."


def draw_kinds(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    for kind, text in (("write", "written"), ("read", "read"), ("atomic", "updated atomically")):
        draw_mark(draw, x, y, kind, [(0, 5)])
        x = draw_label(draw, x, y, f"{text} by thread 5")
    draw_mark(draw, x, y, "read", [(0, thread) for thread in range(8)])
    x = draw_label(draw, x, y, "read by 8 threads")
    draw.rectangle(cell_box(x, y), UNTOUCHED)
    draw_label(draw, x, y, "untouched")


def draw_blocks(draw: ImageDraw.ImageDraw, x: int, y: int, blocks: int) -> None:
    for block in range(min(blocks, len(BLOCK_COLOURS))):
        draw.rectangle(cell_box(x, y), colour_of(block))
        x = draw_label(draw, x, y, f"block {block}")
    if blocks > len(BLOCK_COLOURS):
        draw_label(draw, x - CELL, y, f"... {blocks:,} blocks: the colours repeat")


def draw_label(draw: ImageDraw.ImageDraw, x: int, y: int, text: str) -> int:
    """Write beside a cell; returns where the next one starts."""
    x += CELL + 4
    draw.text((x, y + (CELL - GAP) // 2), text, INK, font(15), "lm")
    return x + round(font(15).getlength(text)) + 22
