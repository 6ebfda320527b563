"""Draw this lesson's picture: a cell, what its pixels add up, and what is learned.

    python -m lessons.14_inline.picture

It learns the lake, made smaller, with the kernels of this lesson on the lab's native engine.
"""

from pathlib import Path

import numpy as np
from PIL import Image

from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import resize, save_in_256_colours
from kernels.files.psnr import psnr
from kernels.files.style import GRID, INK, MUTED, PAPER, font, headline, paper
from kernels.inline.model import Stages, learning_step, make_arrays
from kernels.inline.paint import launch_paint
from kernels.inline.sizes import CELL, CHANNELS, CORNERS
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

WIDTH, HEIGHT, LEFT, TOP = 1180, 470, 30, 66
BLUE, ORANGE, RED = (0, 114, 178), (230, 159, 0), (213, 40, 40)
PIXEL = 17  # of the drawn cell
LEARNED_SIZE = 240, 165  # what is learned: 15 x 11 cells
STEPS = 0, 20, 300
CORNER_AT = 390, 330  # of the lake: the cell that is drawn


def main():
    sheet, draw = paper(WIDTH, HEIGHT)
    draw_cell(sheet, draw)
    draw_additions(draw)
    draw_learning(sheet, draw)
    save_in_256_colours(sheet, HERE / "picture.png")


def draw_cell(sheet, draw):
    """16 x 16 pixels of the lake, the corners around them, and one pixel's shares."""
    headline(draw, LEFT, "a block is a cell", "256 threads, 4 corners of 14 numbers")
    x, y = CORNER_AT
    pixels = to_uint8(load_image(LAKE)[y : y + CELL, x : x + CELL])
    side = CELL * PIXEL
    left, top = LEFT + 14, TOP + 28
    cell = Image.fromarray(pixels).resize((side, side), Image.Resampling.NEAREST)
    sheet.paste(cell, (left, top))
    for i in range(CELL + 1):
        line = i * PIXEL
        draw.line((left + line, top, left + line, top + side), PAPER, 1)
        draw.line((left, top + line, left + side, top + line), PAPER, 1)
    column, row = 5, 3
    pixel = left + (column + 0.5) * PIXEL, top + (row + 0.5) * PIXEL
    shares = shares_of(column / CELL, row / CELL)
    # A corner is the place of a pixel: in the middle of the first one of its cell.
    first = left + PIXEL / 2, top + PIXEL / 2
    corners = [(first[0] + side * cx, first[1] + side * cy) for cy in (0, 1) for cx in (0, 1)]
    for (cx, cy), share in zip(corners, shares, strict=True):
        draw.line((*pixel, cx, cy), ORANGE, 1 + round(share * 8))
    draw.rectangle(
        (pixel[0] - PIXEL / 2, pixel[1] - PIXEL / 2, pixel[0] + PIXEL / 2, pixel[1] + PIXEL / 2),
        outline=RED, width=3,
    )  # fmt: skip
    for number, ((cx, cy), share) in enumerate(zip(corners, shares, strict=True)):
        draw.ellipse((cx - 9, cy - 9, cx + 9, cy + 9), BLUE, PAPER, 2)
        above = number < 2
        at = cx, cy - 13 if above else cy + 13
        anchor = ("l" if number % 2 == 0 else "r") + ("d" if above else "a")
        draw.text(
            (at[0] - (9 if number % 2 == 0 else -9), at[1]), f"{share:.2f}", INK, font(15), anchor
        )
    words = (
        "a pixel blends four corners, and its gradient",
        "goes back to them, with the same shares",
    )
    for number, line in enumerate(words):
        draw.text((LEFT, top + side + 44 + 22 * number), line, MUTED, font(14), "la")


def shares_of(x, y):
    return (1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y


def draw_additions(draw):
    """The additions of both ways, as areas."""
    left = 400
    headline(draw, left, "additions to the grid", "per step, for 512 x 512 pixels")
    per_cell = CORNERS * CHANNELS
    cells = (512 // CELL) ** 2
    large, small = per_cell * cells * CELL * CELL, per_cell * cells
    side, top = 256, TOP + 28
    draw.rectangle((left, top, left + side, top + side), GRID)
    little = side // CELL
    draw.rectangle((left, top + side - little, left + little, top + side), RED)
    draw.text((left + side / 2, top + side / 2 - 14), "each pixel by itself", INK, font(15), "mm")
    draw.text((left + side / 2, top + side / 2 + 14), f"{large:,}", INK, font(20), "mm")
    draw.text(
        (left + little + 8, top + side - 8), f"each cell once: {small:,}", RED, font(15), "lm"
    )
    words = (
        "the pixels of a cell are summed in shared",
        f"memory first: {large // small} times fewer",
    )
    for number, line in enumerate(words):
        draw.text((left, top + side + 60 + 22 * number), line, MUTED, font(14), "la")


def draw_learning(sheet, draw):
    left, width, height = 720, 210, 144
    headline(draw, left, "what is learned", "every pixel, in every step")
    image = np.asarray(resize(load_image(LAKE), LEARNED_SIZE), np.float32) / 255
    panels = [*learned(image), ("the target", image)]
    for number, (name, picture) in enumerate(panels):
        x, y = left + number % 2 * (width + 14), TOP + 46 + number // 2 * (height + 40)
        sheet.paste(resize(np.clip(picture, 0, 1), (width, height)), (x, y))
        quality = "" if picture is image else f": {psnr(picture, image):.1f} dB"
        draw.text((x, y - 6), name + quality, INK, font(15), "ls")


def learned(image):
    """(name, picture) after some steps."""
    arrays = make_arrays(image, 1, np.array)
    for step in range(STEPS[-1] + 1):
        if step > 0:
            learning_step(Stages(), arrays, step, launch)
        if step in STEPS:
            picture = np.empty_like(image)
            launch_paint(arrays.grid, arrays.weights, picture, launch)
            yield "the start" if step == 0 else f"step {step}", picture


if __name__ == "__main__":
    main()
