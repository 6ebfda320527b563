"""Draw this lesson's picture: lanes that exchange, blocks in two stages, and the lake without fog.

python -m lessons.11_many_become_one.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font
from kernels.reductions.contrast import launch_stretch
from kernels.reductions.sums import launch_sum
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

WIDTH, HEIGHT, LEFT, TOP = 1180, 560, 30, 62
BLUE, RED = (0, 114, 178), (213, 40, 40)
BLOCK_COLOURS = (BLUE, (230, 159, 0), (0, 140, 100), (204, 121, 167))
VALUES = 3, 1, 4, 1, 5, 9, 2, 6
CELL_WIDTH, CELL_HEIGHT, ROUND_HEIGHT = 52, 30, 84
STAGES_LEFT, PICTURE_SIZE = 560, (270, 186)
# Of the fog in the picture; `python -m lessons.11_many_become_one` finds these levels.
FOG, FOG_BRIGHTNESS, LEVELS, BINS = 0.6, 0.8, (130, 221), 256


def main():
    sheet = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw_exchange(draw)
    draw_stages(draw)
    draw_lake(sheet, draw)
    save_in_256_colours(sheet, HERE / "picture.png")


# ---------------------------------------------------------------- a warp


def draw_exchange(draw):
    """Eight lanes; below, what each of them has after each round."""
    draw.text((LEFT, 12), "a warp", INK, font(20), "la")
    draw.text((LEFT, 37), "lanes exchange their sums; no memory, no barrier", MUTED, font(14), "la")
    for lane in range(len(VALUES)):
        draw.text((centre(lane), TOP + 12), f"lane {lane}", MUTED, font(12), "mm")
    top = TOP + 26
    draw_cells(draw, top, VALUES)
    for step in (4, 2, 1):
        for lane in range(len(VALUES)):
            draw_exchanged(draw, top + CELL_HEIGHT, lane, lane ^ step)
        top += ROUND_HEIGHT
        draw_cells(draw, top, sums_after(step))
        x = LEFT + len(VALUES) * CELL_WIDTH + 8
        draw.text((x, top + CELL_HEIGHT / 2), f"step = {step}", INK, font(13), "lm")
    words = "A warp has 32 lanes: five rounds.", "In the end each lane has the sum of all."
    for number, line in enumerate(words):
        draw.text((LEFT, top + 56 + 24 * number), line, INK, font(15), "la")


def sums_after(step):
    """What the lanes have after the round with this step: the sum of all that are `step` apart."""
    return [sum(VALUES[lane % step :: step]) for lane in range(len(VALUES))]


def centre(lane):
    return LEFT + lane * CELL_WIDTH + (CELL_WIDTH - 4) / 2


def draw_cells(draw, top, numbers):
    for lane, number in enumerate(numbers):
        x = LEFT + lane * CELL_WIDTH
        draw.rectangle((x, top, x + CELL_WIDTH - 4, top + CELL_HEIGHT), BLUE)
        place = centre(lane), top + CELL_HEIGHT / 2
        draw.text(place, f"{number:.0f}", PAPER, font(15), "mm")


def draw_exchanged(draw, top, lane, partner):
    bottom = top + ROUND_HEIGHT - CELL_HEIGHT
    draw.line((centre(lane), top, centre(lane), bottom), GRID, 2)
    draw.line((centre(partner), top, centre(lane), bottom), MUTED, 1)


# ---------------------------------------------------------------- two stages


def draw_stages(draw):
    left, width, gap = STAGES_LEFT, 140, 14
    draw.text((left, 12), "two stages", INK, font(20), "la")
    words = "each block stores its sum in a place of its own; one block adds up the places"
    draw.text((left, 37), words, MUTED, font(14), "la")
    random = np.random.default_rng(3)
    values = random.integers(1, 4, 4 * 16).astype(np.float32)
    partials, total = np.empty(4, np.float32), np.empty(1, np.float32)
    for block in range(4):
        part = values[16 * block : 16 * block + 16]
        launch_sum(part, np.empty(1, np.float32), partials[block : block + 1], launch)
    launch_sum(partials, np.empty(1, np.float32), total, launch)
    middle = left + 2 * width + 1.5 * gap
    for block, colour in enumerate(BLOCK_COLOURS):
        x = left + block * (width + gap)
        draw_values(draw, x, values[16 * block : 16 * block + 16], colour)
        draw.text((x + width / 2, TOP + 10), f"block {block}", MUTED, font(12), "mm")
        place = middle + (block - 1.5) * 60
        draw.line((x + width / 2, TOP + 58, place, TOP + 106), MUTED, 1)
        draw.rectangle((place - 26, TOP + 106, place + 26, TOP + 134), colour)
        draw.text((place, TOP + 120), f"{partials[block]:.0f}", PAPER, font(15), "mm")
        draw.line((place, TOP + 134, middle, TOP + 170), MUTED, 1)
    draw.rectangle((middle - 26, TOP + 170, middle + 26, TOP + 198), INK)
    draw.text((middle, TOP + 184), f"{total[0]:.0f}", PAPER, font(15), "mm")
    draw.text((middle + 132, TOP + 120), "partials", INK, font(13), "lm")
    draw.text((middle + 44, TOP + 184), "total, by a second launch", INK, font(13), "lm")


def draw_values(draw, left, values, colour):
    """16 values of a block, as bars."""
    for number, value in enumerate(values):
        x = left + number * 8.75
        draw.rectangle((x, TOP + 56 - 10 * value, x + 6, TOP + 56), colour)


# ---------------------------------------------------------------- the lake


def draw_lake(sheet, draw):
    clear = load_image(LAKE)
    seen = to_uint8((1 - FOG) * clear + FOG * FOG_BRIGHTNESS).astype(np.float32) / np.float32(255)
    stretched = np.empty(seen.size, np.float32)
    launch_stretch(seen.ravel(), np.array(LEVELS, np.int32), BINS, stretched, launch)
    top, step = 318, PICTURE_SIZE[0] + 50
    pictures = seen, stretched.reshape(clear.shape)
    for number, (picture, words) in enumerate(
        zip(pictures, ("the lake in fog", "its darkest black, its brightest white"), strict=True)
    ):
        x = STAGES_LEFT + number * step
        small = Image.fromarray(to_uint8(picture)).resize(PICTURE_SIZE, Image.Resampling.LANCZOS)
        sheet.paste(small, (x, top))
        draw.text((x, top + PICTURE_SIZE[1] + 8), words, MUTED, font(14), "la")
    x, y = STAGES_LEFT + PICTURE_SIZE[0] + 12, top + PICTURE_SIZE[1] / 2
    draw.line((x, y, x + 20, y), RED, 3)
    draw.polygon([(x + 18, y - 7), (x + 18, y + 7), (x + 28, y)], RED)


if __name__ == "__main__":
    main()
