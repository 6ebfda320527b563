"""Draw this lesson's picture: what filters make of the lake, and why a block needs a halo.

    python -m lessons.17_neighbours.picture

It runs the kernel of this lesson on the lab's native engine.
"""

from pathlib import Path

import numpy as np
from PIL import Image

from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import resize, save_in_256_colours
from kernels.files.style import INK, MUTED, font, headline, paper
from kernels.neighbours.convolve import PIECE_HEIGHT, PIECE_WIDTH, launch_convolve_tiled
from lessons.capstones.device import native_device

from .__main__ import BY_HAND, filtered

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"
WIDTH, HEIGHT, LEFT, TOP = 1180, 330, 30, 70
SHOWN = 240, 164  # of the lake
CROP = 520, 310, 760, 474  # of it: left, top, right, bottom
WORDS = {
    "blurred": "a mean of nine, the centre most",
    "sharpened": "itself, plus edges",
    "edges": "itself, less its neighbours",
}
CELL = 9  # pixels on a side of a drawn pixel


def main():
    image = np.asarray(resize(load_image(LAKE), (803, 549)), np.float32) / 255
    left, top, right, bottom = CROP
    pictures = filtered(image[top:bottom, left:right], launch_convolve_tiled, native_device())
    sheet, draw = paper(WIDTH, HEIGHT)
    for number, (name, words) in enumerate(WORDS.items()):
        x = LEFT + number * (SHOWN[0] + 18)
        headline(draw, x, name, words)
        sheet.paste(Image.fromarray(to_uint8(pictures[name])), (x, TOP))
        for (row, column), value in np.ndenumerate(BY_HAND[name]):
            place = x + 40 + column * 62, TOP + SHOWN[1] + 22 + row * 24
            draw.text(place, f"{value:g}"[:6], INK, font(15), "mm")
    draw_halo(draw, LEFT + 3 * (SHOWN[0] + 18) + 12)
    save_in_256_colours(sheet, HERE / "picture.png")


def draw_halo(draw, left):
    """A block's pixels, and those around them that it fetches, too."""
    headline(draw, left, "what a block fetches", "its 32 x 8 pixels, and a halo of 84")
    for row in range(PIECE_HEIGHT + 2):
        for column in range(PIECE_WIDTH + 2):
            inside = 0 < row <= PIECE_HEIGHT and 0 < column <= PIECE_WIDTH
            x, y = left + column * CELL, TOP + 10 + row * CELL
            colour = "#6b9ac4" if inside else "#f2b366"
            draw.rectangle((x, y, x + CELL - 2, y + CELL - 2), colour)
    below = TOP + 10 + (PIECE_HEIGHT + 2) * CELL + 14
    lines = (
        "Without shared memory, 256 threads",
        "read 9 x 256 = 2,304 numbers.",
        "The piece has 34 x 10 = 340.",
    )
    for number, line in enumerate(lines):
        draw.text((left, below + number * 22), line, MUTED, font(15), "la")


if __name__ == "__main__":
    main()
