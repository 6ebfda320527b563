"""Draw this lesson's picture: three ways down a valley, and the cells that a batch touches.

python -m lessons.08_adam.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.adam import bias_corrections
from kernels.config import Config
from kernels.field_math import adam_step, neighbours
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import INK, MUTED, PAPER, font
from kernels.sampler import launch_sample_batch
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
WIDTH, HEIGHT = 400, 274
GAP, TOP, LEFT = 36, 66, 30
SCALE = 2  # drawn larger and averaged down

STEEPNESS = np.array([1.0, 40.0])  # loss = (x^2 + 40 y^2) / 2: a valley along x
START = np.array([-1.7, 0.75])
STEPS = 60
BLUE, ORANGE, RED = (0, 114, 178), (230, 140, 0), (213, 40, 40)
BATCHES = 1024, 16_384
GRID = 200, 137


def main():
    size = 2 * LEFT + 3 * WIDTH + 2 * GAP, TOP + HEIGHT + 60
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    title(draw, 0, "a valley, steep across and flat along", "each way begins at the left, 60 steps")
    sheet.paste(valley(), (LEFT, TOP))
    legend(draw)
    for number, batch in enumerate(BATCHES, 1):
        touched = touched_cells(batch)
        fraction = f"{touched.mean():.0%} of {touched.size:,} cells"
        title(draw, number, f"cells touched by {batch:,} samples", fraction)
        panel = Image.fromarray(
            np.where(touched[..., np.newaxis], BLUE, (235, 238, 242)).astype(np.uint8)
        )
        corner = LEFT + number * (WIDTH + GAP), TOP
        sheet.paste(panel.resize((WIDTH, HEIGHT), Image.Resampling.NEAREST), corner)
    save_in_256_colours(sheet, HERE / "picture.png")


def title(draw, number, text, details):
    x = LEFT + number * (WIDTH + GAP)
    draw.text((x, 14), text, INK, font(18), "la")
    draw.text((x, 40), details, MUTED, font(15), "la")


def legend(draw):
    x = LEFT
    for colour, name in ((RED, "gradient descent"), (ORANGE, "with momentum"), (BLUE, "Adam")):
        draw.line((x, TOP + HEIGHT + 26, x + 20, TOP + HEIGHT + 26), colour, 3)
        draw.text((x + 26, TOP + HEIGHT + 26), name, INK, font(15), "lm")
        x += 60 + round(font(15).getlength(name))


# ---------------------------------------------------------------- three ways down


def gradient_descent(rate=0.045):
    position = START.copy()
    yield position.copy()
    for _ in range(STEPS):
        position -= rate * STEEPNESS * position
        yield position.copy()


def momentum(rate=0.012, beta=0.9):
    position, velocity = START.copy(), np.zeros(2)
    yield position.copy()
    for _ in range(STEPS):
        velocity = beta * velocity + STEEPNESS * position
        position -= rate * velocity
        yield position.copy()


def adam(rate=0.06):
    """With the very function that the kernels call."""
    rates = Config().adam_rates
    corrections = bias_corrections(0.9, 0.99)
    position, m, v = START.astype(np.float32), np.zeros(2, np.float32), np.zeros(2, np.float32)
    yield position.copy()
    for step in range(1, STEPS + 1):
        gradient = (STEEPNESS * position).astype(np.float32)
        for axis in range(2):
            position[axis], m[axis], v[axis] = adam_step(
                position[axis], gradient[axis], m[axis], v[axis], *corrections[step],
                np.float32(rate), rates,
            )  # fmt: skip
        yield position.copy()


def valley():
    """Contour bands of the loss, and the three paths."""
    y, x = np.mgrid[0 : HEIGHT * SCALE, 0 : WIDTH * SCALE] / SCALE
    position = np.stack([(x / WIDTH - 0.5) * 4.2, (0.5 - y / HEIGHT) * 2.2], axis=2)
    loss = (STEEPNESS * position**2).sum(axis=2) / 2
    band = np.floor(np.sqrt(loss) * 3).astype(int)
    shade = (248 - 8 * np.minimum(band, 14)).astype(np.uint8)
    panel = Image.fromarray(np.repeat(shade[..., np.newaxis], 3, axis=2))
    draw = ImageDraw.Draw(panel)
    for path, colour in ((gradient_descent(), RED), (momentum(), ORANGE), (adam(), BLUE)):
        points = [pixel(position) for position in path]
        draw.line(points, colour, 2 * SCALE, joint="curve")
        for px, py in points:
            draw.ellipse((px - 5, py - 5, px + 5, py + 5), colour)
    centre = pixel(np.zeros(2))
    draw.line((centre[0] - 12, centre[1], centre[0] + 12, centre[1]), INK, 3)
    draw.line((centre[0], centre[1] - 12, centre[0], centre[1] + 12), INK, 3)
    return panel.reduce(SCALE)


def pixel(position):
    x = (position[0] / 4.2 + 0.5) * WIDTH * SCALE
    y = (0.5 - position[1] / 2.2) * HEIGHT * SCALE
    return float(x), float(y)


# ---------------------------------------------------------------- touched cells


def touched_cells(batch):
    width, height = GRID
    uv, target = np.zeros((batch, 2), np.float32), np.zeros((batch, 3), np.float32)
    launch_sample_batch(np.zeros((2, 2, 3), np.float32), 1, 1, uv, target, launch)
    touched = np.zeros((height, width), bool)
    for u, v in uv:
        left, right, _ = neighbours(u, width)
        top, bottom, _ = neighbours(v, height)
        for row in (top, bottom):
            touched[row, [left, right]] = True
    return touched


if __name__ == "__main__":
    main()
