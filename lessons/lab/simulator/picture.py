"""Which thread of which block touches which element: a kernel's memory accesses as one picture.

Time runs downwards, one row for each instruction, executed by all its threads at once. A thick
bar is a barrier: above it is the past for every thread of the block. On the right stand the
elements of the array: the colour says which block touches an element, the number which thread,
and the shape whether it is read (a frame), written (a full square) or updated atomically (an
octagon: a stop sign, since the threads go one by one). Shared memory is drawn once for each
block, and local memory with one row a thread.

Such pictures teach at small sizes. Of a large array only the part that is touched is drawn, of a
loop only the first rounds, and the picture says what it leaves out.
"""

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.atomic import write_atomically
from kernels.files.style import GRID, INK, MUTED, PAPER, font

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

MARGIN = 40
MIN_WIDTH, MAX_WIDTH, MAX_HEIGHT = 1000, 2400, 4000
NUMBER_WIDTH, SOURCE_WIDTH = 44, 300
ARRAY_LEFT = MARGIN + NUMBER_WIDTH + SOURCE_WIDTH + 36

CELL = 28  # from one cell to the next, including a gap
GAP = 2
FRAME = 4  # thickness of the frame that marks a read
CORNER = 8  # what is cut off a square to mark an atomic update
PANEL_GAP, CAPTION_HEIGHT, INDEX_HEIGHT = 28, 20, 15
LINE_HEIGHT, NOTE_HEIGHT, ROW_PADDING = 20, 18, 14

# What is drawn of large arrays, long loops and long kernels.
MOST_ROWS, MOST_COLUMNS = 16, 64
MOST_ARRAY_HEIGHT = 1600
MOST_ROUNDS = 4

VERBS = {"read": "reads", "write": "writes", "atomic": "atomically updates"}


def draw_accesses(events, path, title, grid, block):
    """Draw the events of one kernel launch into the PNG file `path`.

    events: a sequence of AccessEvent; none gives a picture that says so. title: one line of text.
    grid, block: the launch's blocks and threads, ints or tuples (x, y, z). The picture is at most
    2,400 x 4,000 pixels. Raises InputError if the file cannot be written.
    """
    grid, block = as_tuple(grid), as_tuple(block)
    image = paint(plan(events, math.prod(grid), math.prod(block)), title, grid, block)
    write_atomically(path, lambda file: image.save(file, "PNG"))


def as_tuple(size):
    sizes = size if isinstance(size, (tuple, list)) else (size,)
    return tuple(int(n) for n in sizes)


# ---------------------------------------------------------------- what goes into the picture


def plan(events, blocks, threads):
    """The picture's items from top to bottom, each with a `height` and a `draw(draw, y, width)`."""
    if not events:
        return [Note("No array was touched: there is nothing to draw.", 0)]
    views = views_of(events, threads)
    items, last_phase = [], None
    in_time_order = sorted(events, key=lambda event: (event.phase, event.order))
    for phase, group in groupby(in_time_order, key=lambda event: event.phase):
        items.append(PhaseStart(phase, last_phase))
        items += instructions(group, views, blocks * threads)
        last_phase = phase
    return cut(items)


def views_of(events, threads):
    """One View for each array, made of all its events: it looks the same in every row."""
    touching = {}
    for event in events:
        touching.setdefault(array_of(event), []).append(event)
    return {array: View(group, threads) for array, group in touching.items()}


def array_of(event):
    return event.array, event.space, event.shape


def instructions(events, views, all_threads):
    """A row for each event of one phase; of a loop, rows for the first rounds and then a note."""
    items, rounds, repeated = [], {}, []
    for event in events:
        place = (event.line, event.array, event.kind)
        rounds[place] = rounds.get(place, 0) + 1
        if rounds[place] > MOST_ROUNDS:
            repeated.append(event.line)
            continue
        items += note_on_repeated(repeated)
        repeated = []
        items.append(Instruction(event, views[array_of(event)], all_threads))
    return items + note_on_repeated(repeated)


def note_on_repeated(lines):
    if not lines:
        return []
    numbers = ", ".join(str(line) for line in sorted(set(lines)))
    named = "line" if len(set(lines)) == 1 else "lines"
    text = f"... {counted(len(lines), 'more row')} like these, of {named} {numbers}"
    return [Note(text, len(lines))]


def cut(items):
    """Leave out the end of what would become too long, and say so."""
    room = MAX_HEIGHT - header_height() - MARGIN - Note.height
    height = 0
    for kept, item in enumerate(items):
        height += item.height
        if height > room:
            break
    else:
        return items
    # A barrier with nothing below it would look like the kernel's end.
    if isinstance(items[kept - 1], PhaseStart):
        kept -= 1
    missing = sum(item.events for item in items[kept:])
    phases = sum(isinstance(item, PhaseStart) for item in items[kept:])
    text = f"The picture ends here: {counted(missing, 'more row')} left out"
    if phases:
        text += f", {counted(phases, 'more barrier')} among them"
    return [*items[:kept], Note(text + ".", missing)]


def counted(number, noun):
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class PhaseStart:
    """The barrier that ends the phase before, if there was one, and a heading."""

    events = 0
    bar = 26

    def __init__(self, phase, last_phase):
        self.phase = phase
        # A phase in which no array is touched has no rows; its barriers merge into one bar.
        self.barriers = phase if last_phase is None else phase - last_phase
        self.height = 46 + (self.bar + 10 if self.barriers else 0)

    def draw(self, draw, y, width):
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

    def __init__(self, text, events):
        self.text, self.events = text, events

    def draw(self, draw, y, width):
        draw.text((MARGIN + NUMBER_WIDTH, y + 8), self.text, MUTED, font(16), "la")


class Instruction:
    """One row: the source line on the left, the array on the right."""

    events = 1

    def __init__(self, event, view, all_threads):
        self.event, self.view = event, view
        self.lines = wrapped(event.source, font(16), SOURCE_WIDTH, most=4)
        verb = f"{VERBS[event.kind]} {event.array} ({event.space})"
        self.verb = wrapped(verb, font(13), SOURCE_WIDTH)
        self.who = f"{len(event.block):,} of {counted(all_threads, 'thread')}"
        self.hidden = view.hidden(event)
        text_height = LINE_HEIGHT * len(self.lines) + NOTE_HEIGHT * (len(self.verb) + 1)
        array_height = view.height + (NOTE_HEIGHT if self.hidden else 0)
        self.height = max(text_height, array_height) + 2 * ROW_PADDING

    def draw(self, draw, y, width):
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

    def draw_array(self, draw, y):
        self.view.draw(draw, ARRAY_LEFT, y, self.event)
        if self.hidden:
            text = f"accesses not drawn: {self.hidden:,} of {len(self.event.block):,}"
            draw.text((ARRAY_LEFT, y + self.view.height), text, MUTED, font(13), "la")


def wrapped(text, typeface, width, most=2):
    """The text in up to `most` lines no wider than `width`, broken at spaces where possible."""
    lines = []
    while text and len(lines) < most:
        line = longest_start(text, typeface, width)
        if len(line) < len(text) and len(lines) == most - 1:
            line = longest_start(text, typeface, width - typeface.getlength("...")) + "..."
            return [*lines, line]
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
    return lines


def longest_start(text, typeface, width):
    end = len(text)
    while end > 1 and typeface.getlength(text[:end]) > width:
        end -= 1
    if end == len(text):
        return text
    space = text.rfind(" ", 0, end + 1)
    return text[:space] if space > 0 else text[:end]


# ---------------------------------------------------------------- an array


class Window(NamedTuple):
    """The rows or columns `first` ... `first + count - 1` of `total`."""

    first: int
    count: int
    total: int

    def holds(self, index):
        return (index >= self.first) & (index < self.first + self.count)

    @property
    def cropped(self):
        return self.count < self.total

    def __str__(self):
        return f"{self.first:,} to {self.first + self.count - 1:,} of {self.total:,}"


class Accesses(NamedTuple):
    """An event's accesses inside its array, and where they are drawn: arrays of one length."""

    piece: np.ndarray
    row: np.ndarray
    column: np.ndarray
    block: np.ndarray
    thread: np.ndarray


class Panel(NamedTuple):
    """The cells of one piece of an array; its top left corner is at (x, y) within the view."""

    caption: str
    x: int
    y: int


class View:
    """How one array is drawn: in which pieces, and which part of each.

    A piece is a matrix. A shared or local array has one for each block, and an array of three or
    more dimensions is a pile of them, its slices. Every piece that is ever touched has a panel.
    """

    def __init__(self, events, threads):
        self.name, self.space, self.shape = array_of(events[0])
        self.slices = 1 if self.space == "local" else math.prod(self.shape[:-2])
        rows, columns = matrix_of(self.space, self.shape, threads)
        parts = [self.accesses(event) for event in events]
        piece, row, column, _, _ = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.rows = window(row, rows, MOST_ROWS)
        self.columns = window(column, columns, MOST_COLUMNS)
        self.row_names = self.width_of_row_names() if rows > 1 else 0
        # If every access misses the array, show what it misses.
        touched = np.unique(piece).tolist() or [0]
        self.place_panels(touched)
        self.notes = self.what_is_left_out(len(touched))
        self.height = self.panel_bottom + NOTE_HEIGHT * len(self.notes)

    def width_of_row_names(self):
        last_row = self.rows.first + self.rows.count - 1
        return round(font(11).getlength(str(last_row))) + 7

    def accesses(self, event):
        element = np.asarray(event.element)
        inside = (element >= 0) & (element < math.prod(self.shape))
        element = element[inside]
        block, thread = np.asarray(event.block)[inside], np.asarray(event.thread)[inside]
        if self.space == "local":
            return Accesses(block, thread, element, block, thread)
        rows, columns = matrix_of(self.space, self.shape, 1)
        piece, within = element // (rows * columns), element % (rows * columns)
        if self.space == "shared":
            piece = piece + block * self.slices
        return Accesses(piece, within // columns, within % columns, block, thread)

    def place_panels(self, touched):
        """Side by side like words, on a new line where the paper ends."""
        cells_width = self.row_names + self.columns.count * CELL
        panel_height = CAPTION_HEIGHT + INDEX_HEIGHT + self.rows.count * CELL
        self.panels, self.width, x, y = {}, 0, 0, 0
        for piece in touched:
            caption = self.caption(piece)
            caption_width = self.row_names + round(font(13).getlength(caption))
            width = max(cells_width, caption_width)
            if x > 0 and x + width > MAX_WIDTH - MARGIN - ARRAY_LEFT:
                x, y = 0, y + panel_height + PANEL_GAP // 2
            if y + panel_height > MOST_ARRAY_HEIGHT:
                break
            self.panels[piece] = Panel(caption, x, y)
            self.panel_bottom = y + panel_height
            self.width = max(self.width, x + width)
            x += width + PANEL_GAP

    def caption(self, piece):
        name, block = self.name, piece // self.slices
        if self.slices > 1:
            leading = np.unravel_index(piece % self.slices, self.shape[:-2])
            name += "[" + ", ".join(str(int(index)) for index in leading) + "]"
        if self.space == "global":
            return name
        ending = ", one row a thread" if self.space == "local" else ""
        return f"{name} of block {block}{ending}"

    def what_is_left_out(self, touched):
        row_name = "threads" if self.space == "local" else "rows"
        column_name = "columns" if self.rows.total > 1 else "elements"
        parts = ((row_name, self.rows), (column_name, self.columns))
        notes = [f"only {name} {part}" for name, part in parts if part.cropped]
        if len(self.panels) < touched:
            notes.append(f"only the first {len(self.panels)} of {touched:,} such panels")
        return notes

    def is_drawn(self, accesses):
        """Which accesses, (n,) bool, lie in the part that is drawn."""
        in_window = self.rows.holds(accesses.row) & self.columns.holds(accesses.column)
        return in_window & np.isin(accesses.piece, list(self.panels))

    def hidden(self, event):
        """How many of an event's accesses lie outside that part, or outside the array."""
        return len(event.element) - int(self.is_drawn(self.accesses(event)).sum())

    def touched_cells(self, event):
        """{(piece, row, column): [(block, thread), ...]} of the cells that are drawn."""
        accesses = self.accesses(event)
        drawn = self.is_drawn(accesses)
        cells = {}
        for piece, row, column, *who in zip(
            *(part[drawn].tolist() for part in accesses), strict=True
        ):
            cell = (piece, row - self.rows.first, column - self.columns.first)
            cells.setdefault(cell, []).append(tuple(who))
        return cells

    def draw(self, draw, x, y, event):
        for panel in self.panels.values():
            self.draw_panel(draw, x + panel.x, y + panel.y, panel.caption)
        for (piece, row, column), who in self.touched_cells(event).items():
            panel = self.panels[piece]
            left, top = self.corner(x + panel.x, y + panel.y, row, column)
            draw_mark(draw, left, top, event.kind, who)
        for i, note in enumerate(self.notes):
            position = (x, y + self.panel_bottom + 3 + i * NOTE_HEIGHT)
            draw.text(position, note, MUTED, font(13), "la")

    def corner(self, x, y, row, column):
        top = y + CAPTION_HEIGHT + INDEX_HEIGHT + row * CELL
        return x + self.row_names + column * CELL, top

    def draw_panel(self, draw, x, y, caption):
        draw.text((x + self.row_names, y), caption, INK, font(13), "la")
        for column in range(self.columns.count):
            left, top = self.corner(x, y, 0, column)
            name = str(self.columns.first + column)
            draw.text((left + CELL // 2 - 1, top - 3), name, MUTED, fitting(name, 11), "ms")
        for row in range(self.rows.count):
            left, top = self.corner(x, y, row, 0)
            if self.row_names:
                name = str(self.rows.first + row)
                draw.text((left - 5, top + CELL // 2 - 1), name, MUTED, font(11), "rm")
            for column in range(self.columns.count):
                left, top = self.corner(x, y, row, column)
                draw.rectangle(cell_box(left, top), UNTOUCHED)


def matrix_of(space, shape, threads):
    """(rows, columns) in which an array is drawn; a local one has a row for each thread."""
    if space == "local":
        return threads, math.prod(shape)
    rows, columns = (1, 1, *shape)[-2:]
    return rows, columns


def window(touched, total, most):
    """Everything if it is few, otherwise what is touched, from its start."""
    if total <= most or len(touched) == 0:
        return Window(0, min(total, most), total)
    first, last = int(touched.min()), int(touched.max())
    return Window(first, min(last - first + 1, most), total)


# ---------------------------------------------------------------- a cell


def cell_box(x, y, inset=0):
    return (x + inset, y + inset, x + CELL - GAP - 1 - inset, y + CELL - GAP - 1 - inset)


def draw_mark(draw, x, y, kind, who):
    """who: the (block, thread) pairs that touch this cell in one instruction."""
    blocks = sorted({block for block, _ in who})
    fill_with(draw, x, y, blocks)
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


def cut_corners(draw, x, y):
    left, top, right, bottom = cell_box(x, y)
    for corner_x, inwards in ((left, CORNER), (right, -CORNER)):
        for corner_y, downwards in ((top, CORNER), (bottom, -CORNER)):
            corner = (corner_x, corner_y)
            beside, below = (corner_x + inwards, corner_y), (corner_x, corner_y + downwards)
            draw.polygon([corner, beside, below], PAPER)


def fill_with(draw, x, y, blocks):
    """Fill a cell with the colour of its block, or with a stripe for each of several."""
    left, top, right, bottom = cell_box(x, y)
    colours = [colour_of(block) for block in blocks[: len(BLOCK_COLOURS)]]
    stripe = (right + 1 - left) / len(colours)
    for i, colour in enumerate(colours):
        draw.rectangle((round(left + i * stripe), top, right, bottom), colour)


def colour_of(block):
    return BLOCK_COLOURS[block % len(BLOCK_COLOURS)]


def readable_on(colour):
    red, green, blue = colour
    brightness = 0.299 * red + 0.587 * green + 0.114 * blue
    return INK if brightness > 105 else PAPER


def fitting(text, size, width=CELL - GAP):
    """The typeface of this size, or of the largest smaller one in which the text fits."""
    while size > 6 and font(size).getlength(text) > width:
        size -= 1
    return font(size)


# ---------------------------------------------------------------- the sheet


def header_height():
    return MARGIN + 164


def paint(items, title, grid, block):
    """Put the items under one another, below the title and the legend; a Pillow image."""
    views = [item.view for item in items if isinstance(item, Instruction)]
    width = max([MIN_WIDTH] + [ARRAY_LEFT + view.width + MARGIN for view in views])
    height = header_height() + sum(item.height for item in items) + MARGIN
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)
    draw_header(draw, width, title, grid, block)
    y = header_height()
    for item in items:
        item.draw(draw, y, width)
        y += item.height
    return image


def draw_header(draw, width, title, grid, block):
    [title] = wrapped(title, font(26), width - 2 * MARGIN, most=1) or [""]
    draw.text((MARGIN, MARGIN - 8), title, INK, font(26), "la")
    time = "Time runs downwards; each row is one instruction, executed by its threads all at once."
    numbers = f"{numbering('Block', 'block', grid)} {numbering('Thread', 'thread', block)}"
    draw.text((MARGIN, MARGIN + 32), time, MUTED, font(14), "la")
    draw.text((MARGIN, MARGIN + 52), numbers.strip(), MUTED, font(14), "la")
    draw_kinds(draw, MARGIN, MARGIN + 82)
    draw_blocks(draw, MARGIN, MARGIN + 120, math.prod(grid))


def numbering(name, index, sizes):
    """How a two- or three-dimensional index becomes one number; with one dimension, nothing."""
    if math.prod(sizes[1:]) == 1:
        return ""
    terms = [f"{index}Idx.x", f"{sizes[0]} * {index}Idx.y"]
    if len(sizes) == 3 and sizes[2] > 1:
        terms.append(f"{sizes[0] * sizes[1]} * {index}Idx.z")
    return f"{name} number = {' + '.join(terms)}."


def draw_kinds(draw, x, y):
    for kind, text in (("write", "written"), ("read", "read"), ("atomic", "updated atomically")):
        draw_mark(draw, x, y, kind, [(0, 5)])
        x = draw_label(draw, x, y, f"{text} by thread 5")
    draw_mark(draw, x, y, "read", [(0, thread) for thread in range(8)])
    x = draw_label(draw, x, y, "read by 8 threads")
    draw.rectangle(cell_box(x, y), UNTOUCHED)
    draw_label(draw, x, y, "untouched")


def draw_blocks(draw, x, y, blocks):
    for block in range(min(blocks, len(BLOCK_COLOURS))):
        draw.rectangle(cell_box(x, y), colour_of(block))
        x = draw_label(draw, x, y, f"block {block}")
    if blocks > len(BLOCK_COLOURS):
        draw_label(draw, x - CELL, y, f"... {blocks:,} blocks: the colours repeat")


def draw_label(draw, x, y, text):
    """Write beside a cell; returns where the next one starts."""
    x += CELL + 4
    draw.text((x, y + (CELL - GAP) // 2), text, INK, font(15), "lm")
    return x + round(font(15).getlength(text)) + 22
