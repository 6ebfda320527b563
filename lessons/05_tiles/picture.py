"""Draw this lesson's picture: how a block goes over its tiles, and what that saves.

python -m lessons.05_tiles.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font
from kernels.matmul import matmul_naive, matmul_tiled
from lessons.lab import checked_run

HERE = Path(__file__).parent

SIZE, TILE = 12, 4  # drawn: 12 x 12 numbers in tiles of 4 x 4
CHOSEN_ROW, CHOSEN_COLUMN = 1, 2  # the tile of c whose block is shown
CELL, GAP, TOP, LEFT = 11, 12, 62, 30
BLUE, ORANGE, RED = (0, 114, 178), (230, 159, 0), (213, 40, 40)
PALE_BLUE, PALE_ORANGE = (204, 226, 240), (250, 236, 204)
MEASURED = 64  # size of the matrices whose traffic is counted


def main():
    rounds = SIZE // TILE
    panel = 2 * SIZE * CELL + GAP
    size = 2 * LEFT + rounds * panel + (rounds - 1) * 2 * LEFT, TOP + panel + 120
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    for number in range(rounds):
        draw_round(draw, LEFT + number * (panel + 2 * LEFT), number)
    draw_counts(draw, LEFT, TOP + panel + 24)
    save_in_256_colours(sheet, HERE / "picture.png")


def draw_round(draw, x, number):
    """The matrices as in the product's definition: b above c, a to its left."""
    offset = SIZE * CELL + GAP
    draw.text((x, 12), f"round {number + 1}", INK, font(20), "la")
    draw.text((x, 37), f"start = {number} x {TILE} = {number * TILE}", MUTED, font(14), "la")
    draw.text((x + offset / 2 - 6, TOP + offset / 2 + 10), "a below,", MUTED, font(13), "mm")
    draw.text((x + offset / 2 - 6, TOP + offset / 2 + 28), "b to the right", MUTED, font(13), "mm")
    strip = range(CHOSEN_ROW * TILE, (CHOSEN_ROW + 1) * TILE)
    strip_of_b = range(CHOSEN_COLUMN * TILE, (CHOSEN_COLUMN + 1) * TILE)
    now = range(number * TILE, (number + 1) * TILE)

    def colour_of_a(row, column):
        if row not in strip:
            return GRID
        return BLUE if column in now else PALE_BLUE

    def colour_of_b(row, column):
        if column not in strip_of_b:
            return GRID
        return ORANGE if row in now else PALE_ORANGE

    def colour_of_c(row, column):
        return RED if row in strip and column in strip_of_b else GRID

    draw_matrix(draw, x, TOP + offset, colour_of_a)
    draw_matrix(draw, x + offset, TOP, colour_of_b)
    draw_matrix(draw, x + offset, TOP + offset, colour_of_c)


def draw_matrix(draw, left, top, colour_of):
    for row in range(SIZE):
        for column in range(SIZE):
            x, y = left + column * CELL, top + row * CELL
            draw.rectangle((x, y, x + CELL - 2, y + CELL - 2), colour_of(row, column))


def draw_counts(draw, x, y):
    words = [
        (BLUE, "the tile of a, fetched into shared memory by the block in this round"),
        (ORANGE, "the tile of b"),
        (RED, "the elements of c that this block computes, one per thread"),
    ]
    for number, (colour, text) in enumerate(words):
        draw.rectangle((x, y + number * 24, x + 14, y + number * 24 + 14), colour)
        draw.text((x + 24, y + number * 24 + 7), text, INK, font(15), "lm")
    naive, tiled = reads(matmul_naive), reads(matmul_tiled)
    right = x + 560
    draw.text(
        (right, y + 7), f"{MEASURED} x {MEASURED} matrices, tiles of 16 x 16:", INK, font(15), "lm"
    )
    draw.text((right, y + 31), f"naive: {naive:,} reads of a and b", INK, font(15), "lm")
    draw.text((right, y + 55), f"tiled: {tiled:,}", INK, font(15), "lm")


def reads(kernel):
    """How many numbers of global memory a kernel reads, counted by the checked simulator."""
    random = np.random.default_rng(0)
    a, b = (random.random((MEASURED, MEASURED), dtype=np.float32) for _ in range(2))
    c = np.zeros((MEASURED, MEASURED), np.float32)
    blocks = MEASURED // 16
    report = checked_run(kernel, (blocks, blocks), (16, 16), a, b, c)
    assert report.ok, report
    return sum(traffic.reads for traffic in report.traffic.values())


if __name__ == "__main__":
    main()
