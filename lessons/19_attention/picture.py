"""Draw this lesson's picture: who looks at whom in two layers, and what one layer cannot learn.

    python -m lessons.19_attention.picture

It trains both networks with the kernels of this lesson, on the lab's native engine; some minutes.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.attention.network import Reader, rate_at
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font
from lessons.capstones.device import choose_device

from .__main__ import ASKED, BATCH, EVERY, EXAMINED, LOOKS, STEPS, accuracy, maps_of, most_frequent

HERE = Path(__file__).parent
WIDTH, LEFT, TOP, SIDE = 250, 40, 84, 323  # of the curves


def main():
    curves = []
    for layers in (1, 2):
        reader = Reader(1, BATCH, choose_device("native"), layers)
        tokens, answers = reader.held_out(EXAMINED)
        curve = [(0, accuracy(reader, tokens, answers))]
        for step in range(1, STEPS + 1):
            reader.train(step, rate_at(step, STEPS))
            if step % EVERY == 0:
                curve.append((step, accuracy(reader, tokens, answers)))
        curves.append(curve)
    maps = Image.fromarray(maps_of(reader, tokens))
    sheet = Image.new("RGB", (maps.width + LEFT + WIDTH + 90, maps.height), PAPER)
    sheet.paste(maps, (0, 0))
    draw_curves(ImageDraw.Draw(sheet), maps.width + LEFT, curves, most_frequent(tokens, answers))
    save_in_256_colours(sheet, HERE / "picture.png")


def draw_curves(draw, left, curves, guessed):
    """Right answers over the steps, one curve per number of layers."""
    draw.text((left, 12), "right answers, held out", INK, font(18), "la")
    for percent in range(0, 101, 25):
        y = TOP + SIDE * (1 - percent / 100)
        draw.line((left, y, left + WIDTH, y), GRID)
        draw.text((left - 8, y), f"{percent}", MUTED, font(13), "rm")
    y = TOP + SIDE * (1 - guessed / 100)
    draw.line((left, y, left + WIDTH, y), MUTED)
    draw.text((left + WIDTH, y + 6), "the most frequent digit", MUTED, font(13), "ra")
    for curve, colour, label in zip(curves, (ASKED, LOOKS), ("1 layer", "2 layers"), strict=True):
        points = np.array(curve, float) * (WIDTH / STEPS, -SIDE / 100) + (left, TOP + SIDE)
        draw.line([tuple(point) for point in points], colour, 3)
        draw.text((points[-1][0] + 8, points[-1][1]), label, colour, font(14), "lm")
    draw.text((left, TOP + SIDE + 10), f"{STEPS} steps of {BATCH} rows", MUTED, font(13), "la")


if __name__ == "__main__":
    main()
