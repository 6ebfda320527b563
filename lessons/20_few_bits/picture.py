"""Draw this lesson's picture: levels, cells in words, and what a texel reads.

    python -m lessons.20_few_bits.picture

The levels and words are those that the kernels of this lesson make on the lab's native engine.
"""

from pathlib import Path

import numpy as np

from kernels.bits.cells import WORD, launch_pack_cells
from kernels.bits.lake_file import word_count
from kernels.bits.quantise import launch_quantise
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font, headline, paper
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
WIDTH, HEIGHT, TOP = 1180, 300, 80
CELL_COLOURS = (214, 92, 92), (88, 150, 90), (80, 120, 200), (214, 160, 60), (140, 100, 180)
LEVEL_BITS, PACKED_BITS, CELLS = 2, 5, 5
OTHER = (225, 228, 232)


def main():
    sheet, draw = paper(WIDTH, HEIGHT)
    draw_levels(draw, 40)
    draw_words(draw, 380)
    draw_texel(draw, 900)
    save_in_256_colours(sheet, HERE / "picture.png")


def draw_levels(draw, left):
    """What becomes of every value from -1.5 to 1.5, with two bits."""
    headline(draw, left, "four levels", "2 bits: what is beyond is clipped")
    size = 180
    values = np.linspace(-1.5, 1.5, 361).astype(np.float32)
    rounded = np.empty_like(values)
    launch_quantise(values, LEVEL_BITS, rounded, launch=launch)

    def place(value, level):
        return left + 50 + (value + 1.5) / 3 * size, TOP + (1.5 - level) / 3 * size

    for level in sorted({*rounded.tolist()}):
        draw.line((place(-1.5, level), place(1.5, level)), GRID, 1)
        draw.text((left + 40, place(0, level)[1]), f"{level:.2f}", MUTED, font(13), "rm")
    draw.line((place(-1.5, -1.5), place(1.5, 1.5)), OTHER, 2)
    draw.line([place(*pair) for pair in zip(values, rounded, strict=True)], CELL_COLOURS[0], 3)
    for value in (-1, 0, 1):
        draw.text((place(value, 0)[0], TOP + size + 6), str(value), MUTED, font(13), "ma")


def draw_words(draw, left):
    """Five cells of three numbers of five bits, in three words of 32 bits."""
    headline(draw, left, "cells in words", "3 x 5 bits each: cells cross from word to word")
    values = np.random.default_rng(4).uniform(-1, 1, 3 * CELLS).astype(np.float32)
    words = np.zeros(word_count(CELLS, 1, PACKED_BITS), np.uint32)
    launch_pack_cells(values, PACKED_BITS, words, launch=launch)
    side = 14
    for number, word in enumerate(words):
        y = TOP + 8 + number * 58
        draw.text((left, y - 4), f"word {number}", MUTED, font(13), "ld")
        for bit in range(WORD):
            place = number * WORD + bit
            cell = place // (3 * PACKED_BITS)
            x = left + bit * (side + 1)
            colour = CELL_COLOURS[cell] if cell < CELLS else OTHER
            one = int(word) >> bit & 1
            draw.rectangle((x, y, x + side - 1, y + 22), colour if one else faded(colour))
            if place % PACKED_BITS == 0 and cell < CELLS:
                draw.line((x - 1, y - 2, x - 1, y + 26), INK, 2)
    below = "bit 0 is on the left; dark is 1; one thread writes one word"
    draw.text((left, TOP + 182), below, MUTED, font(14), "la")


def draw_texel(draw, left):
    """The four cells around a texel."""
    headline(draw, left, "one texel", "four cells, at most eight words")
    side = 40
    for row in range(4):
        for column in range(6):
            x, y = left + column * side, TOP + row * side
            near = row in (1, 2) and column in (2, 3)
            colour = CELL_COLOURS[(row * 2 + column) % 5] if near else OTHER
            draw.rectangle((x + 2, y + 2, x + side - 2, y + side - 2), colour)
    x, y = left + 2.9 * side, TOP + 1.8 * side
    draw.ellipse((x - 6, y - 6, x + 6, y + 6), PAPER, INK, 2)
    draw.text((left, TOP + 182), "blended, then 1,568 weights", MUTED, font(14), "la")


def faded(colour):
    return tuple(255 - (255 - channel) // 4 for channel in colour)


if __name__ == "__main__":
    main()
