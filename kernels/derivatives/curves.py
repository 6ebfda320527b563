"""A picture of functions, their derivatives, and finite differences on them.

    (name, function, derivative) of functions of one number  ->  picture

The idea: a wrong derivative is seen at once. The line is what the derivative says, the dots are
what the function does.
"""

import numpy as np

from kernels.derivatives.finite_differences import finite_difference
from kernels.files.style import GRID, INK, MUTED, PAPER, font, paper

WIDTH, HEIGHT, GAP, TOP = 270, 210, 24, 56
PITCH = HEIGHT + 66  # from a row of panels to the next: a title, a panel, the numbers below it
RANGE = 4.0  # of x, on either side of 0
FUNCTION, DERIVATIVE, DOT = (176, 182, 190), (0, 114, 178), (213, 94, 0)
DOTS = 17


def draw_curves(functions, columns=3):
    """A picture, (height, width, 3) uint8. functions: list of (name, function, derivative)."""
    rows = -(-len(functions) // columns)
    size = GAP + columns * (WIDTH + GAP), TOP + rows * PITCH
    sheet, draw = paper(*size)
    draw_key(draw)
    for number, (name, function, derivative) in enumerate(functions):
        left = GAP + number % columns * (WIDTH + GAP)
        top = TOP + number // columns * PITCH
        draw_panel(draw, left, top, name, function, derivative)
    return np.asarray(sheet)


def draw_key(draw):
    x = GAP
    for colour, words in (
        (FUNCTION, "the function"),
        (DERIVATIVE, "its registered derivative"),
        (DOT, "finite differences"),
    ):
        if colour == DOT:
            draw.ellipse((x + 11, 18, x + 18, 25), colour)
        else:
            draw.line((x, 21, x + 28, 21), colour, 3)
        draw.text((x + 36, 21), words, INK, font(15), "lm")
        x += 60 + int(font(15).getlength(words))


def draw_panel(draw, left, top, name, function, derivative):
    xs = np.linspace(-RANGE, RANGE, 161, dtype=np.float32)
    dots = np.linspace(-RANGE, RANGE, DOTS + 2, dtype=np.float32)[1:-1] + np.float32(0.02)
    values = [float(function(x)) for x in xs]
    slopes = [float(derivative(x, np.float32(1))) for x in xs]
    measured = [finite_difference(function, (x,), 0) for x in dots]
    low, high = np.percentile([*values, *slopes, *measured], [2, 98])
    low, high = min(max(low, -1.2), -0.3), max(min(high, 1.6), 1.1)

    def place(x, y):
        across = (float(x) + RANGE) / (2 * RANGE)
        up = (min(max(y, low), high) - low) / (high - low)
        return left + across * WIDTH, top + GAP + HEIGHT - up * HEIGHT

    draw.text((left, top), name, INK, font(17), "la")
    draw.rectangle((left, top + GAP, left + WIDTH, top + GAP + HEIGHT), outline=GRID)
    draw.line((*place(-RANGE, 0), *place(RANGE, 0)), GRID, 1)
    draw.line((*place(0, low), *place(0, high)), GRID, 1)
    # Outside of the frame, where no curve can hide them.
    below = top + GAP + HEIGHT + 4
    for x, words, anchor in (
        (-RANGE, f"{-RANGE:g}", "la"),
        (0, "x = 0", "ma"),
        (RANGE, f"{RANGE:g}", "ra"),
    ):
        draw.text((place(x, 0)[0], below), words, MUTED, font(13), anchor)
    for y in (0, 1):
        draw.text((left - 6, place(0, y)[1]), f"{y}", MUTED, font(13), "rm")
    for colour, line in ((FUNCTION, values), (DERIVATIVE, slopes)):
        inside = [place(x, y) for x, y in zip(xs, line, strict=True) if low <= y <= high]
        draw.line(inside, colour, 3)
    for x, y in zip(dots, measured, strict=True):
        if low <= y <= high:
            across, down = place(x, y)
            draw.ellipse((across - 4, down - 4, across + 4, down + 4), DOT, PAPER)
