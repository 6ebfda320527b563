"""Curves on paper: loss and PSNR against the step.

Drawn by hand with Pillow at SCALE times the size and averaged down, which is what makes
the lines smooth. Every coordinate below is in final pixels; `Sheet` does the scaling.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw

from kernels.files.style import GRID, INK, MUTED, PAPER, Colour, font

SCALE = 3

LOSS_COLOUR = (24, 92, 148)
PSNR_COLOUR = (196, 88, 28)

PANEL_WIDTH, PANEL_HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 84, 92, 84, 76

# A loss of exactly zero (a 1 x 1 image can reach it) has no logarithm.
SMALLEST_LOSS = 1e-12

MOST_DOTS = 50  # on a curve

Point = tuple[float, float]  # x, y in final pixels


class Measure(NamedTuple):
    """What the right panel of a plot shows.

    label: of a value, as `str.format` takes it. baseline: what the first dashed line is called.
    loss: what the left panel's loss is.
    """

    title: str
    unit: str
    label: str
    baseline: str = "bilinear"
    loss: str = "mean squared error of the random batches"


PSNR = Measure("PSNR", "of the whole picture, in dB", "{:.1f} dB")


class Sheet:
    """White paper, `width` by `height` final pixels, with smooth lines and text."""

    def __init__(self, width: int, height: int) -> None:
        self.image = Image.new("RGB", (width * SCALE, height * SCALE), PAPER)
        self.draw = ImageDraw.Draw(self.image)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        scaled = [(x * SCALE, y * SCALE) for x, y in points]
        self.draw.line(scaled, colour, round(width * SCALE), joint="curve")

    def dashed(
        self, left: float, right: float, y: float, colour: Colour, width: float,
        dash: float = 7, gap: float = 5,
    ) -> None:  # fmt: skip
        for x in np.arange(left, right, dash + gap):
            self.line([(x, y), (min(x + dash, right), y)], colour, width)

    def dot(self, x: float, y: float, colour: Colour, radius: float) -> None:
        box = (x - radius, y - radius, x + radius, y + radius)
        self.draw.ellipse([side * SCALE for side in box], colour)

    def text(self, x: float, y: float, text: str, colour: Colour, size: float, anchor: str) -> None:
        """anchor: which point of the text is at (x, y), in Pillow's two letters."""
        self.draw.text((x * SCALE, y * SCALE), text, colour, font(size * SCALE), anchor)

    def blank(self, x: float, y: float, text: str, size: float, anchor: str) -> None:
        """Clear the paper where `text` will write."""
        place = (x * SCALE, y * SCALE)
        self.draw.rectangle(self.draw.textbbox(place, text, font(size * SCALE), anchor), PAPER)

    def finished(self) -> np.ndarray:
        """The sheet in final pixels: (height, width, 3) uint8."""
        return np.asarray(self.image.reduce(SCALE))


def loss_plot(
    steps: ArrayLike,
    losses: ArrayLike,
    psnr: ArrayLike,
    baseline_psnr: float,
    best_psnr: float = math.nan,
    measure: Measure = PSNR,
) -> np.ndarray:
    """Draw two panels over the step (log axis): the loss (log axis) and the PSNR in dB.

    steps, losses, psnr: equally long sequences of numbers; steps ascend from 1.
    baseline_psnr, best_psnr: in dB, of the bilinear grid that is the image made smaller, and of the
    best one; drawn as dashed lines. Entries that are not finite (NaN for "not measured", infinity
    for "exact") are left out, a baseline that is not finite too. measure: what stands in the place
    of the PSNR, such as an accuracy; then the baselines are of that.
    Returns an image, (height, width, 3) uint8. Raises ValueError if the lengths differ.
    """
    steps = np.asarray(steps, dtype=np.float64)
    losses = np.maximum(np.asarray(losses, dtype=np.float64), SMALLEST_LOSS)
    psnr = np.asarray(psnr, dtype=np.float64)
    if not steps.shape == losses.shape == psnr.shape:
        raise ValueError(f"{steps.size} steps, {losses.size} losses and {psnr.size} PSNRs")

    panel = LEFT + PANEL_WIDTH + RIGHT
    sheet = Sheet(2 * panel, TOP + PANEL_HEIGHT + BOTTOM)
    x_axis = StepAxis(steps)

    left = Panel(sheet, LEFT, x_axis, LogAxis(losses[np.isfinite(losses)]))
    left.frame("loss", measure.loss)
    left.curve(steps, losses, LOSS_COLOUR, "{:.3g}")

    levels = np.append(psnr, (baseline_psnr, best_psnr))
    right = Panel(sheet, panel + LEFT, x_axis, LinearAxis(levels[np.isfinite(levels)]))
    right.frame(measure.title, measure.unit)
    # One label above the two lines and one below, however close they are.
    if math.isfinite(best_psnr):
        label = f"best bilinear grid {measure.label.format(best_psnr)}"
        right.baseline(best_psnr, label, above=True)
    if math.isfinite(baseline_psnr):
        below = math.isfinite(best_psnr) or starts_above(psnr, baseline_psnr)
        label = f"{measure.baseline} {measure.label.format(baseline_psnr)}"
        right.baseline(baseline_psnr, label, above=not below)
    right.curve(steps, psnr, PSNR_COLOUR, measure.label)
    return sheet.finished()


def starts_above(ys: np.ndarray, level: float) -> bool:
    return len(ys) > 0 and bool(ys[0] > level)


class LinearAxis:
    """From data to a position in [0, 1], with a few round ticks."""

    def __init__(self, values: np.ndarray) -> None:
        low, high = (min(values), max(values)) if len(values) else (0.0, 1.0)
        # A constant must not be stretched into a landscape of rounding errors.
        margin = max(0.06 * (high - low), 0.5)
        self.low, self.high = low - margin, high + margin

    def position(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        return linear_ticks(self.low, self.high)


class LogAxis:
    """The same on a logarithmic scale, for values above 0."""

    def __init__(self, values: np.ndarray) -> None:
        low, high = (min(values), max(values)) if len(values) else (1.0, 10.0)
        margin = max((high / low) ** 0.015, 1.01)
        self.low, self.high = low / margin, high * margin

    def position(self, value: float) -> float:
        return np.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        stride = max(1, math.ceil((last - first + 1) / 7))
        decades = [10.0**power for power in range(first, last + 1, stride)]
        if len(decades) >= 3:
            return decades
        steps = [m * 10.0**power for power in range(first - 1, last + 1) for m in (1, 2, 5)]
        steps = [tick for tick in steps if self.low <= tick <= self.high]
        return steps if len(steps) >= 3 else linear_ticks(self.low, self.high)


class StepAxis(LogAxis):
    """Steps are counted: there is no step 1.5 to mark."""

    def ticks(self) -> list[float]:
        return [tick for tick in super().ticks() if tick % 1 == 0]


Axis = LinearAxis | LogAxis


def linear_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    stride = power * next(m for m in (1, 2, 5, 10) if m * power >= rough * 0.99)
    return [i * stride for i in range(math.ceil(low / stride), math.floor(high / stride) + 1)]


def tick_label(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


class Panel:
    """One pair of axes whose plotting area starts at x = `left` on the sheet."""

    def __init__(self, sheet: Sheet, left: int, x_axis: Axis, y_axis: Axis) -> None:
        self.sheet, self.left, self.right = sheet, left, left + PANEL_WIDTH
        self.top, self.bottom = TOP, TOP + PANEL_HEIGHT
        self.x_axis, self.y_axis = x_axis, y_axis

    def x(self, value: float) -> float:
        return self.left + PANEL_WIDTH * self.x_axis.position(value)

    def y(self, value: float) -> float:
        return self.bottom - PANEL_HEIGHT * self.y_axis.position(value)

    def frame(self, title: str, unit: str, below: str = "step") -> None:
        sheet = self.sheet
        sheet.text(self.left, self.top - 38, title, INK, 20, "ls")
        offset = font(20 * SCALE).getlength(title) / SCALE + 10
        sheet.text(self.left + offset, self.top - 38, unit, MUTED, 14, "ls")
        for tick in self.y_axis.ticks():
            y = self.y(tick)
            sheet.line([(self.left, y), (self.right, y)], GRID, 1)
            sheet.text(self.left - 12, y, tick_label(tick), MUTED, 14, "rm")
        for tick in self.x_axis.ticks():
            x = self.x(tick)
            sheet.line([(x, self.top), (x, self.bottom)], GRID, 1)
            sheet.text(x, self.bottom + 12, tick_label(tick), MUTED, 14, "ma")
        sheet.text(self.left + PANEL_WIDTH / 2, self.bottom + 38, below, MUTED, 14, "ma")

    def curve(self, xs: np.ndarray, ys: np.ndarray, colour: Colour, label: str) -> None:
        """A line that skips what is not finite, and says the value it ends at.

        Where there are few points, each is a dot: between them nothing was measured.
        """
        finite = np.isfinite(ys)
        points = [(self.x(x), self.y(y)) for x, y in zip(xs[finite], ys[finite], strict=True)]
        if not points:
            return
        if len(points) > 1:
            self.sheet.line(points, colour, 2)
        for x, y in points if len(points) <= MOST_DOTS else ():
            self.sheet.dot(x, y, colour, 2.5)
        x, y = points[-1]
        self.sheet.dot(x, y, colour, 4)
        self.sheet.text(x + 10, y, label.format(ys[finite][-1]), colour, 15, "lm")

    def baseline(self, level: float, label: str, above: bool) -> None:
        """A dashed line, labelled above or below."""
        y = self.y(level)
        self.sheet.dashed(self.left, self.right, y, MUTED, 1.5)
        offset, anchor = (-7, "ls") if above else (7, "la")
        self.sheet.blank(self.left + 8, y + offset, label, 14, anchor)  # of the grid's lines
        self.sheet.text(self.left + 8, y + offset, label, INK, 14, anchor)
