"""Draw why a function of x is wrong: what it should give, and what it gives, as curves over x."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.atomic import write_atomically
from kernels.files.style import GRID, INK, MUTED, PAPER, Colour, font
from lessons.lab.simulator.style import drawable

WIDTH, HEIGHT, MARGIN, TOP, LEFT, BELOW = 860, 520, 30, 84, 90, 62
EXPECTED, GOT, WRONG = (40, 120, 181), (222, 143, 5), (178, 24, 43)
DOT = 4
ROOM = 0.3  # above and below what is expected, of its range
TICKS = np.array([0, *(s * d * 10.0**p for s in (-1, 1) for d in (1, 3) for p in range(-2, 6))])
CLOSEST = 44  # pixels between two numbers of an axis


def draw_curves(
    x: np.ndarray, expected: np.ndarray, got: np.ndarray, wrong: np.ndarray, path: Path, title: str
) -> None:
    """Write a PNG. x, expected, got: (n,) numbers; wrong: (n,) bool.

    The axis of x is stretched near 0, so that values far out have room, too. What lies above or
    below the picture is drawn at its edge, and so is what is not finite. Raises `InputError` if the
    file cannot be written.
    """
    order = np.argsort(x, kind="stable")
    x, expected, got, wrong = (np.asarray(part)[order] for part in (x, expected, got, wrong))
    finite = expected[np.isfinite(expected)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    room = ROOM * (high - low) or 1.0
    low, high = low - room, high + room
    right, bottom = WIDTH - MARGIN, HEIGHT - BELOW

    def across(values: np.ndarray) -> np.ndarray:
        first, last = np.arcsinh(x[[0, -1]].astype(np.float64))
        share = (np.arcsinh(values) - first) / (last - first or 1.0)
        return LEFT + np.clip(share, 0, 1) * (right - LEFT)

    def down(values: np.ndarray) -> np.ndarray:
        share = np.nan_to_num((np.asarray(values, np.float64) - low) / (high - low), nan=0.0)
        return bottom - np.clip(share, 0, 1) * (bottom - TOP)

    sheet = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((MARGIN, 14), drawable(title), INK, font(18), "la")
    words_in_colours(draw, [("expected", EXPECTED), ("yours", GOT), ("wrong", WRONG)])
    ticks = TICKS[(TICKS >= x[0]) & (TICKS <= x[-1])]
    for value, at in spaced(ticks, across(ticks)):
        draw.line((at, TOP, at, bottom), GRID)
        draw.text((at, bottom + 6), f"{value:g}", MUTED, font(12), "ma")
    for value in np.linspace(low, high, 7)[1:-1]:
        at = float(down(value))
        draw.line((LEFT, at, right, at), GRID)
        number = value if abs(value) > 1e-6 * (high - low) else 0  # near 0 by rounding
        draw.text((LEFT - 8, at), f"{number:.3g}", MUTED, font(12), "rm")
    draw.text(((LEFT + right) / 2, bottom + 26), "x", MUTED, font(14), "ma")
    columns = across(x.astype(np.float64))
    for values, colour in ((expected, EXPECTED), (got, GOT)):
        points = list(zip(columns.tolist(), down(values).tolist(), strict=True))
        draw.line(points, colour, 2)
        for place in points:
            dot(draw, place, colour)
    for number in np.flatnonzero(wrong):
        ends = float(down(expected[number])), float(down(got[number]))
        draw.line((columns[number], ends[0], columns[number], ends[1]), WRONG, 2)
        dot(draw, (float(columns[number]), ends[1]), WRONG)
    write_atomically(path, lambda file: sheet.save(file, "PNG"))


def words_in_colours(draw: ImageDraw.ImageDraw, words: Iterable[tuple[str, Colour]]) -> None:
    x = float(MARGIN)
    for word, colour in words:
        dot(draw, (x + DOT, 58), colour)
        draw.text((x + 3 * DOT, 58), word, INK, font(14), "lm")
        x += 3 * DOT + font(14).getlength(word) + 24


def dot(draw: ImageDraw.ImageDraw, place: tuple[float, float], colour: Colour) -> None:
    x, y = place
    draw.ellipse((x - DOT, y - DOT, x + DOT, y + DOT), colour)


def spaced(ticks: np.ndarray, places: np.ndarray) -> list[tuple[float, float]]:
    """(tick, place) of as many as have room, those near 0 first. places: in pixels."""
    kept: list[tuple[float, float]] = []
    for number in np.argsort(np.abs(ticks), kind="stable"):
        place = float(places[number])
        if all(abs(place - other) >= CLOSEST for _, other in kept):
            kept.append((float(ticks[number]), place))
    return kept
