"""Draw what the host has asked for: who works when, and where the host stands still.

The lab tells the order of the steps, and which waits for which. How long each takes is made up. A
device copies one array at a time in each direction, while kernels run.
"""

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.style import GRID, INK, MUTED, PAPER, font
from lessons.lab.host.steps import HOST_WAITS, LAUNCH, RECORD, STREAM_WAITS, TO_DEVICE, TO_HOST

REQUEST = 1.0  # what the host needs to ask for something; the unit of all that follows
LENGTHS = {TO_DEVICE: 3.2, LAUNCH: 2.0, TO_HOST: 2.2}
ANSWER = 0.6  # until the host knows that the device is done
COLOURS = {TO_DEVICE: (0, 114, 178), LAUNCH: (0, 140, 100), TO_HOST: (230, 159, 0)}
WAITING = (240, 205, 205)
RED = (213, 40, 40)
ROW = 30
SHEET_WIDTH, MARGIN = 900, 24


def spans(steps):
    """(row, begin, end, kind) of all that happens; row "host", or the number of a stream.

    kind: that of a step, or "request". steps: `session.order.steps`.
    """
    now, found = 0.0, []
    copied = {TO_DEVICE: 0.0, TO_HOST: 0.0}  # when the last copy in this direction is done
    done, marks = {}, []  # of each stream, when its last request is done; of each event, the same
    for step in steps:
        if step.do in LENGTHS:
            found.append(("host", now, now + REQUEST * 0.8, "request"))
            begin = max(now + REQUEST * 0.8, done.get(step.stream, 0.0), copied.get(step.do, 0.0))
            if step.stream == 0:
                begin = max([begin, *done.values()])
            done[step.stream] = begin + LENGTHS[step.do]
            if step.do in copied:
                copied[step.do] = done[step.stream]
            found.append((step.stream, begin, done[step.stream], step.do))
            asked = now + REQUEST * 0.8
            now += REQUEST
            if step.waits:
                now = max(now, done[step.stream] + ANSWER)
                found.append(("host", asked, now, HOST_WAITS))
        elif step.do == RECORD:
            marks.append(done.get(step.stream, 0.0))
        elif step.do == STREAM_WAITS and marks:
            done[step.stream] = max(done.get(step.stream, 0.0), marks[-1])
            found.append((step.stream, marks[-1], marks[-1], STREAM_WAITS))
        elif step.do == HOST_WAITS:
            ends = list(done.values()) if step.stream < 0 else [done.get(step.stream, 0.0)]
            end = max([now, *(end + ANSWER for end in ends)])
            found.append(("host", now, end, HOST_WAITS))
            now = end
    return found


def lines_of(title, steps):
    """What the host has asked for, in words: a line for each request, and where it waited."""
    waits = sum(step.waits for step in steps)
    times = {0: "never waits", 1: "waits once"}.get(waits, f"waits {waits} times")
    lines = [f"{title}: {len(steps)} requests, the host {times}"]
    for step in steps:
        stream = f"stream {step.stream}" if step.stream > 0 else "all" if step.stream else "default"
        what = step.name or (f"{step.size:,} bytes" if step.size else "")
        waiting = "  the host waits" if step.waits and step.do != HOST_WAITS else ""
        lines.append(f"  {step.do:<13} {stream:<9} {what}{waiting}".rstrip())
    return lines


def timeline_picture(titles):
    """title -> steps as a picture, (height, width, 3) uint8."""
    longest = max(span[2] for steps in titles.values() for span in spans(steps))
    sheet = Image.new("RGB", (SHEET_WIDTH, 1200), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw_legend(draw, MARGIN, MARGIN)
    y = MARGIN + 36
    for title, steps in titles.items():
        width = SHEET_WIDTH - 2 * MARGIN
        y = draw_timeline(draw, MARGIN, y, width, title, steps, longest) + 24
    return np.asarray(sheet.crop((0, 0, SHEET_WIDTH, y)))


def draw_timeline(draw, left, top, width, title, steps, longest=None):
    """Rows for the host and for each stream. Returns the y below them.

    longest: units of time that are as long as `width`; None: as many as there are.
    """
    found = spans(steps)
    rows = ["host", *sorted({row for row, *_ in found if row != "host"})]
    end = max((span[2] for span in found), default=1.0)
    scale = (width - 84) / (longest or end)
    draw.text((left, top), title, INK, font(15), "la")
    waited = sum(last - first for row, first, last, kind in found if kind == HOST_WAITS)
    words = f"the host waits {waited:.0f} of {end:.0f}"
    draw.text((left + width, top), words, MUTED, font(13), "ra")
    top += 24
    for number, row in enumerate(rows):
        y = top + number * ROW
        name = "host" if row == "host" else f"stream {row}" if row else "device"
        draw.text((left, y + 11), name, MUTED, font(13), "lm")
        line = y + 23
        draw.line((left + 84, line, left + width, line), GRID, 1)
        for owner, first, last, kind in found:
            if owner == row:
                x0, x1 = (left + 84 + scale * moment for moment in (first, last))
                draw_span(draw, x0, x1, y, kind)
    return top + len(rows) * ROW


def draw_span(draw, x0, x1, y, kind):
    if kind == HOST_WAITS:
        draw.rectangle((x0, y + 4, max(x0 + 1, x1 - 1), y + 20), WAITING)
        if x1 - x0 > 30:
            draw.text(((x0 + x1) / 2, y + 12), "waits", RED, font(11), "mm")
    elif kind == "request":
        draw.rectangle((x0, y + 4, x1, y + 20), INK)
    elif kind == STREAM_WAITS:
        draw.line((x0, y - 8, x0, y + 22), RED, 2)
        draw.text((x0 - 5, y + 11), "event", RED, font(11), "rm")
    else:
        draw.rectangle((x0, y + 2, x1 - 1, y + 22), COLOURS[kind], PAPER)


def draw_legend(draw, left, y):
    words = {TO_DEVICE: "copy there", LAUNCH: "kernel", TO_HOST: "copy back"}
    entries = [("host asks", INK), *((text, COLOURS[kind]) for kind, text in words.items())]
    for text, colour in entries:
        draw.rectangle((left, y + 2, left + 14, y + 14), colour)
        draw.text((left + 20, y + 8), text, MUTED, font(13), "lm")
        left += 34 + draw.textlength(text, font(13))
