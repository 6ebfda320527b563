"""Draw this lesson's picture: four timelines, the toy pattern, and what a warp reads.

python -m lessons.10_two_computers.picture
"""

from pathlib import Path

import numpy as np
from numba import cuda
from PIL import Image, ImageDraw

from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font
from kernels.image_ops import grayscale
from kernels.transfers.block_shapes import blocks_to_cover, shrink_on_cpu, toy_pattern
from kernels.transfers.host_code import BLOCK, gray_half_quarter, gray_in_a_queue, gray_in_turns
from lessons.lab import instead_of_gpu

from .timeline import draw_legend, draw_timeline, spans

HERE = Path(__file__).parent
WIDTH, HEIGHT, LEFT, TOP = 1190, 570, 30, 14
TIMELINE_WIDTH = 640
TOY_LEFT, CELL = 720, 14
SHAPES = (32, 1), (16, 16), (8, 8), (1, 32)
SECTOR = 8  # float32
PLACE = 3  # pixels per number, in the footprints
TOUCHED, READ = (253, 222, 160), (0, 114, 178)


def main():
    sheet = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw_timelines(draw)
    draw_toy(draw)
    draw_footprints(draw)
    save_in_256_colours(sheet, HERE / "picture.png")


# ---------------------------------------------------------------- who works when


def gray_one_by_one(photos):
    """What `gray_in_a_queue` does, in the default stream: the host waits for each copy."""
    grays = []
    for photo in photos:
        photo_on_gpu = cuda.to_device(photo)
        gray_on_gpu = cuda.device_array(photo.shape[:2], np.float32)
        grayscale[blocks_to_cover(photo.shape[1::-1], BLOCK), BLOCK](photo_on_gpu, gray_on_gpu)
        grays.append(gray_on_gpu.copy_to_host())
    return grays


def steps_of(function, argument):
    with instead_of_gpu() as session:
        function(argument)
        steps = list(session.order.steps)
    session.raise_if_problems()
    return steps


def draw_timelines(draw):
    photos = [np.zeros((8, 12, 3), np.float32) for _ in range(3)]
    one_by_one = steps_of(gray_one_by_one, photos)
    queue = steps_of(gray_in_a_queue, photos)
    in_turns = steps_of(gray_in_turns, photos)
    two_streams = steps_of(gray_half_quarter, photos[0])
    longest = max(last for _, _, last, _ in spans(one_by_one))
    draw.text((LEFT, TOP), "who works when", INK, font(20), "la")
    draw_legend(draw, LEFT, TOP + 30)
    y = TOP + 66
    for title, steps in (
        ("three photographs, one by one", one_by_one),
        ("the same from a queue", queue),
        ("the same in turns: copies beside kernels", in_turns),
        ("gray, half and quarter in two streams", two_streams),
    ):
        y = draw_timeline(draw, LEFT, y, TIMELINE_WIDTH, title, steps, longest) + 26


# ---------------------------------------------------------------- the toy


def draw_toy(draw):
    draw.text((TOY_LEFT, TOP), "the toy", INK, font(20), "la")
    toy = toy_pattern()
    top = TOP + 36
    draw_numbers(draw, TOY_LEFT, top, CELL, toy, None)
    draw.text((TOY_LEFT + 232, top + 112), "by 2", MUTED, font(13), "lm")
    draw_numbers(draw, TOY_LEFT + 272, top + 24, 22, shrink_on_cpu(toy, 2), font(11))


def draw_numbers(draw, left, top, cell, numbers, words):
    """A cell per number, the brighter the larger."""
    for (row, column), number in np.ndenumerate(numbers):
        share = number / numbers.max()
        colour = tuple(round(40 + share * (to - 40)) for to in (235, 240, 245))
        x, y = left + column * cell, top + row * cell
        draw.rectangle((x, y, x + cell - 2, y + cell - 2), colour)
        if words:
            ink = PAPER if share < 0.55 else INK
            middle = x + cell / 2 - 1, y + cell / 2 - 1
            draw.text(middle, f"{number:.0f}", ink, words, "mm")


# ---------------------------------------------------------------- what a warp reads


def draw_footprints(draw):
    top = TOP + 304
    draw.text((TOY_LEFT, top), "a warp of 32 threads, and its sectors", INK, font(20), "la")
    draw.text((TOY_LEFT, top + 27), "of a picture that is 32 numbers wide", MUTED, font(13), "la")
    for number, block in enumerate(SHAPES):
        draw_footprint(draw, TOY_LEFT + number * 116, top + 58, block)


def draw_footprint(draw, left, top, block):
    read = np.zeros((32, 32), bool)
    columns, rows = block[0], 32 // block[0]
    read[:rows, :columns] = True
    sectors = read.reshape(32, 32 // SECTOR, SECTOR).any(axis=2)
    side = 32 * PLACE
    draw.rectangle((left, top, left + side, top + side), None, GRID)
    for row, sector in np.argwhere(sectors):
        x, y = left + sector * SECTOR * PLACE, top + row * PLACE
        draw.rectangle((x, y, x + SECTOR * PLACE - 1, y + PLACE - 1), TOUCHED)
    for row, column in np.argwhere(read):
        x, y = left + column * PLACE, top + row * PLACE
        draw.rectangle((x, y, x + PLACE - 2, y + PLACE - 2), READ)
    middle = left + side / 2
    draw.text((middle, top + side + 14), f"{block[0]} x {block[1]}", INK, font(14), "mm")
    words = f"{int(sectors.sum())} sectors"
    draw.text((middle, top + side + 34), words, MUTED, font(13), "mm")


if __name__ == "__main__":
    main()
