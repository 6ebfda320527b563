"""Draw this lesson's picture: a thread's sixteen elements, rounds with two tiles, a fragment.

python -m lessons.12_product_ladder.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.fast.ptx_numpy import a_matrix, half_bits, halves_of, words_of
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font

HERE = Path(__file__).parent

WIDTH, HEIGHT = 1240, 500
RED, BLUE, ORANGE, GREEN = (213, 40, 40), (0, 114, 178), (230, 159, 0), (0, 140, 100)
PALE_BLUE, PALE_ORANGE = (204, 227, 240), (250, 236, 204)

# The block that is drawn: 4 x 4 threads with 4 x 4 elements each, and rounds of four.
SIDE, PER_THREAD, DEPTH = 4, 4, 4
SHOWN_X, SHOWN_Y, SHOWN_INNER = 1, 2, 1
CELL = 13
ROUNDS = 3


def main():
    sheet = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw_registers(draw, 30, 12)
    draw_rounds(draw, 440, 12)
    draw_fragment(draw, 868, 12)
    save_in_256_colours(sheet, HERE / "picture.png")


def title(draw, left, top, text, below):
    draw.text((left, top), text, INK, font(20), "la")
    draw.text((left, top + 27), below, MUTED, font(14), "la")


def cells(draw, left, top, rows, columns, colour_of):
    """A matrix as squares; colour_of(row, column)."""
    for row in range(rows):
        for column in range(columns):
            x, y = left + column * CELL, top + row * CELL
            draw.rectangle((x, y, x + CELL - 2, y + CELL - 2), colour_of(row, column))


# ---------------------------------------------------------------- registers


def draw_registers(draw, left, top):
    title(draw, left, top, "registers", "one thread, one inner index: 8 reads, 16 products")
    width = SIDE * PER_THREAD
    c_left, c_top = left + (DEPTH + 1) * CELL + 60, top + 78 + (DEPTH + 1) * CELL + 24

    def is_own(place, thread):
        return place % SIDE == thread

    def of_c(row, column):
        return RED if is_own(row, SHOWN_Y) and is_own(column, SHOWN_X) else GRID

    def of_a(row, inner):
        own = inner == SHOWN_INNER and is_own(row, SHOWN_Y)
        return BLUE if own else PALE_BLUE

    def of_b(inner, column):
        own = inner == SHOWN_INNER and is_own(column, SHOWN_X)
        return ORANGE if own else PALE_ORANGE

    cells(draw, c_left, c_top, width, width, of_c)
    cells(draw, c_left - (DEPTH + 1) * CELL, c_top, width, DEPTH, of_a)
    cells(draw, c_left, c_top - (DEPTH + 1) * CELL, DEPTH, width, of_b)
    draw.text(
        (c_left + width * CELL / 2, c_top - (DEPTH + 1) * CELL - 18),
        "b_tile",
        MUTED,
        font(14),
        "mm",
    )
    draw.text(
        (c_left - (DEPTH + 1) * CELL - 10, c_top + width * CELL / 2),
        "a_tile,",
        MUTED,
        font(14),
        "rm",
    )
    draw.text(
        (c_left - (DEPTH + 1) * CELL - 10, c_top + width * CELL / 2 + 18),
        "turned",
        MUTED,
        font(14),
        "rm",
    )
    draw.text(
        (c_left - (DEPTH + 1) * CELL - 10, c_top + width * CELL / 2 + 36),
        "back",
        MUTED,
        font(14),
        "rm",
    )
    bottom = c_top + width * CELL + 12
    words = (
        "c: 16 x 16 elements for 4 x 4 threads; red: one thread's.",
        "Your blocks have 64 x 64 for 16 x 16 threads.",
    )
    for number, line in enumerate(words):
        draw.text((left, bottom + 20 * number), line, INK, font(14), "la")


# ---------------------------------------------------------------- rounds


def draw_rounds(draw, left, top):
    title(draw, left, top, "two rounds at once", "time goes to the right")
    bar(
        draw,
        left,
        top + 84,
        "room for one round",
        [("fetch", 46, BLUE), ("multiply", 62, GREEN)],
        2,
    )
    y = top + 226
    draw.text((left, y - 26), "room for two", INK, font(15), "la")
    x = left
    block(draw, x, y, 46, BLUE, "fetch")
    x += 46
    for number in range(ROUNDS):
        x = barrier(draw, x, y, 58)
        block(draw, x, y, 62, GREEN, "multiply")
        if number < ROUNDS - 1:
            block(draw, x, y + 30, 46, BLUE, "fetch")
        x += 62
    words = (
        "Red: everybody waits for everybody.",
        "With room for one round: before what was fetched is",
        "read, and again before it is overwritten.",
        "With room for two, the next round goes where nobody",
        "reads. It is on its way while the threads multiply.",
    )
    for number, line in enumerate(words):
        draw.text((left, top + 326 + 22 * number), line, INK, font(14), "la")


def bar(draw, left, y, text, parts, barriers):
    """A row of rounds, one after the other, with a barrier behind each part."""
    draw.text((left, y - 26), text, INK, font(15), "la")
    x = left
    for _ in range(ROUNDS):
        for name, width, colour in parts:
            block(draw, x, y, width, colour, name)
            x = barrier(draw, x + width, y, 28)


def block(draw, x, y, width, colour, text):
    draw.rectangle((x, y, x + width - 2, y + 26), colour)
    draw.text((x + width / 2 - 1, y + 13), text, PAPER, font(12), "mm")


def barrier(draw, x, y, height):
    draw.rectangle((x + 1, y - 4, x + 4, y + height + 2), RED)
    return x + 8


# ---------------------------------------------------------------- a fragment


def draw_fragment(draw, left, top):
    title(draw, left, top, "tensor cores", "who holds what of A, 16 x 16 halves")
    lanes = lanes_of_a()
    cell = 21
    for row in range(16):
        for column in range(16):
            lane, word = lanes[row, column]
            x, y = left + column * cell, top + 62 + row * cell
            colour = (BLUE, ORANGE, GREEN, RED)[word]
            shade = tuple(
                round(255 - (255 - part) * (0.85 if lane == 6 else 0.28)) for part in colour
            )
            draw.rectangle((x, y, x + cell - 2, y + cell - 2), shade)
            ink = PAPER if lane == 6 else INK
            draw.text((x + cell / 2 - 1, y + cell / 2 - 1), str(lane), ink, font(11), "mm")
    words = (
        "Number: the lane. Colour: which of its four words,",
        "a0 blue, a1 orange, a2 green, a3 red.",
        "Dark: lane 6, group 1, place 2.",
    )
    for number, line in enumerate(words):
        draw.text((left, top + 62 + 16 * cell + 8 + 20 * number), line, INK, font(14), "la")


def lanes_of_a():
    """(16, 16, 2): the lane that holds each element of A, and in which of its words.

    Found by giving each word its own number, and looking where the instruction puts it.
    """
    lane = np.arange(32, dtype=np.float32)[None]
    words = []
    for number in range(4):
        bits = half_bits(lane + 32 * number)
        words.append(words_of(bits, bits))
    matrix = a_matrix(halves_of, *words)[0].astype(int)
    return np.stack([matrix % 32, matrix // 32], axis=-1)


if __name__ == "__main__":
    main()
