"""Draw the ladder under its roof: what a product fetches, and how fast it can be, or is.

The roof: no more than the memory's bandwidth times the operations per byte that is fetched, and no
more than the arithmetic units can do. A point below the corner is held up by memory. And no more
than shared memory delivers, which is another roof for each rung: a warp's 32 numbers per tick.

Source: Williams, Waterman and Patterson, "Roofline", Communications of the ACM, 2009.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kernels.files.plot import LogAxis, Sheet
from kernels.files.style import GRID, INK, MUTED, PAPER, Colour

WIDTH, HEIGHT = 1240, 580
LEFT, RIGHT, TOP, BOTTOM = 92, 640, 84, 480
BARS = 690  # where the table begins
FLOATS, HALVES = (0, 114, 178), (213, 94, 0)
LOWEST_INTENSITY, HIGHEST_INTENSITY = 0.25, 1024.0
ROW, FIRST_ROW = 38, 128
DOT = 5.5

Place = Callable[[float, float], tuple[float, float]]  # intensity, GFLOP/s -> x, y


class Point(NamedTuple):
    """number: on the picture. speed: GFLOP/s, or None where there was no GPU.

    intensity: floating-point operations per byte fetched. shared_reads, barriers: see
    `rungs.Counted`.
    """

    number: int
    name: str
    intensity: float
    speed: float | None
    halves: bool
    shared_reads: float
    barriers: float
    on_h200: float | None = None  # GFLOP/s of our kernel there, to be drawn if there is no GPU

    @property
    def colour(self) -> Colour:
        return HALVES if self.halves else FLOATS


class Roof(NamedTuple):
    """What a GPU can do at most: GB/s of its memory, GFLOP/s in float32 and of halves.

    halves: 0 if it is not known here. shared: how many numbers all threads together read from
    shared memory, in billions per second, 32 per tick and multiprocessor.
    """

    name: str
    memory: float
    float32: float
    halves: float
    shared: float

    def over(self, point: Point) -> float:
        """GFLOP/s that are possible at most, if every byte came from far memory."""
        ceiling = self.halves if point.halves and self.halves else self.float32
        if point.shared_reads:  # per product, which is two operations
            ceiling = min(ceiling, 2 * self.shared / point.shared_reads)
        return min(ceiling, self.memory * point.intensity)

    def limit(self, point: Point) -> str:
        """What `over` is due to."""
        if self.over(point) == self.memory * point.intensity:
            return "memory"
        arithmetic = self.halves if point.halves and self.halves else self.float32
        return "arithmetic" if self.over(point) == arithmetic else "shared memory"


def ladder_picture(points: Sequence[Point], roof: Roof, size: int | None) -> np.ndarray:
    """(height, width, 3) uint8. size: of the matrices that were measured; None without a GPU."""
    sheet = Sheet(WIDTH, HEIGHT)
    x_axis = LogAxis(np.array([LOWEST_INTENSITY, HIGHEST_INTENSITY]))
    speeds = [speed for point in points for speed in (point.speed, point.on_h200) if speed]
    highest = max([*speeds, roof.halves or roof.float32])
    lowest = min([*speeds, roof.memory * LOWEST_INTENSITY])
    y_axis = LogAxis(np.array([lowest / 2, highest * 2]))

    def place(intensity: float, speed: float) -> tuple[float, float]:
        x = LEFT + (RIGHT - LEFT) * x_axis.position(intensity)
        return x, BOTTOM - (BOTTOM - TOP) * y_axis.position(speed)

    draw_axes(sheet, x_axis, y_axis)
    draw_roof(sheet, roof, place)
    for group in groups_of(points):
        draw_group(sheet, group, roof, place)
    draw_table(sheet, points, size, roof)
    return sheet.finished()


def draw_axes(sheet: Sheet, x_axis: LogAxis, y_axis: LogAxis) -> None:
    sheet.text(LEFT, 30, "the ladder under its roof", INK, 20, "ls")
    sheet.text(LEFT, 54, "GFLOP/s; both axes logarithmic", MUTED, 14, "ls")
    for tick in (0.25, 1, 4, 16, 64, 256, 1024):
        x = LEFT + (RIGHT - LEFT) * x_axis.position(tick)
        sheet.line([(x, TOP), (x, BOTTOM)], GRID, 1)
        sheet.text(x, BOTTOM + 10, f"{tick:g}", MUTED, 14, "ma")
    for tick in (10.0**power for power in range(1, 8)):
        if y_axis.low <= tick <= y_axis.high:
            y = BOTTOM - (BOTTOM - TOP) * y_axis.position(tick)
            sheet.line([(LEFT, y), (RIGHT, y)], GRID, 1)
            sheet.text(LEFT - 10, y, f"{tick:,.0f}", MUTED, 14, "rm")
    middle = (LEFT + RIGHT) / 2
    sheet.text(middle, BOTTOM + 34, "operations per byte that is fetched", MUTED, 14, "ma")


def draw_roof(sheet: Sheet, roof: Roof, place: Place) -> None:
    for ceiling, words, colour in (
        (roof.float32, "float32", FLOATS),
        (roof.halves, "halves, tensor cores", HALVES),
    ):
        if not ceiling:
            continue
        corner = min(max(ceiling / roof.memory, LOWEST_INTENSITY), HIGHEST_INTENSITY)
        flat = [place(corner, ceiling), place(HIGHEST_INTENSITY, ceiling)]
        sheet.line([place(LOWEST_INTENSITY, roof.memory * LOWEST_INTENSITY), flat[0]], INK, 1.5)
        sheet.line(flat, colour, 2)
        text = f"{words}: {ceiling / 1000:,.0f} TFLOP/s"
        sheet.text(RIGHT - 6, flat[1][1] - 7, text, colour, 14, "rs")
    x, y = place(7, roof.memory * 7)
    sheet.text(x - 12, y - 6, f"memory: {roof.memory:,.0f} GB/s", INK, 14, "rs")
    sheet.text(LEFT, BOTTOM + 62, f"roof: {roof.name}", MUTED, 13, "la")


def groups_of(points: Sequence[Point]) -> list[list[Point]]:
    """Rungs that fetch as much have one label together."""
    groups: dict[tuple[float, bool], list[Point]] = {}
    for point in points:
        groups.setdefault((round(point.intensity, 3), point.halves), []).append(point)
    return list(groups.values())


def draw_group(sheet: Sheet, group: list[Point], roof: Roof, place: Place) -> None:
    """A ring where its roof is; full where it was measured, here or on an H200."""
    first, last = group[0], group[-1]
    top = place(first.intensity, roof.over(first))
    measured = [speed for point in group if (speed := point.speed or point.on_h200)]
    places = [place(first.intensity, speed) for speed in measured]
    for x, y in places:
        sheet.line([(x, y), top], MUTED, 1)
    sheet.dot(*top, first.colour, DOT)
    sheet.dot(*top, PAPER, DOT - 2)
    for x, y in places:
        sheet.dot(x, y, first.colour, DOT)
    x, y = max([*places, top], key=lambda found: found[1])
    label = f"{first.number}" if len(group) == 1 else f"{first.number} to {last.number}"
    sheet.text(x + 10, y + 13, label, first.colour, 14, "lm")


def draw_table(sheet: Sheet, points: Sequence[Point], size: int | None, roof: Roof) -> None:
    columns = [
        ("bytes fetched", [2 / point.intensity for point in points], "{:.3g}"),
        ("shared reads", [point.shared_reads for point in points], "{:.3g}"),
        ("barriers", [point.barriers for point in points], "{:.3g}"),
    ]
    if size:
        columns.append((f"TFLOP/s, {size:,}", [point.speed / 1000 for point in points], "{:,.1f}"))
    name_width, width = 196, (WIDTH - BARS - 206) / len(columns)
    sheet.text(BARS, 30, "what each rung costs", INK, 20, "ls")
    words = "per product of two numbers; barriers per 16 inner indices"
    sheet.text(BARS, 54, words, MUTED, 14, "ls")
    for number, (title, values, form) in enumerate(columns):
        left = BARS + name_width + number * width
        sheet.text(left, FIRST_ROW - 28, title, MUTED, 13, "ls")
        for row, (point, value) in enumerate(zip(points, values, strict=True)):
            y = FIRST_ROW + row * ROW
            length = (width - 62) * value / max([*values, 1e-9])
            if length > 0.5:
                sheet.line([(left, y), (left + length, y)], point.colour, 11)
            sheet.text(left + length + 5, y, form.format(value), INK, 13, "lm")
    for row, point in enumerate(points):
        y = FIRST_ROW + row * ROW
        sheet.text(BARS, y - 6, f"{point.number}  {point.name}", INK, 14, "lm")
        speed = f"roof {roof.over(point) / 1000:,.1f} TFLOP/s: {roof.limit(point)}"
        sheet.text(BARS + 16, y + 10, speed, MUTED, 11, "lm")
    where = "here" if size else "once on an H200, 2,048 x 2,048, with our kernels: no GPU is here"
    notes = "rings: a model, what the roofs allow", f"full: measured {where}"
    for number, note in enumerate(notes):
        sheet.text(BARS, FIRST_ROW + len(points) * ROW + 4 + 18 * number, note, MUTED, 13, "la")
