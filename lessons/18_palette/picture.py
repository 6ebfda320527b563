"""Draw this lesson's picture: pixels that take a colour, sums that have owners, and the lake.

    python -m lessons.18_palette.picture

It runs the kernels of this lesson on the lab's native engine.
"""

from pathlib import Path

import numpy as np
from PIL import Image

from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import resize, save_in_256_colours
from kernels.files.psnr import psnr
from kernels.files.style import INK, MUTED, font, headline, paper
from kernels.palette.learner import Stages, first_centres, make_arrays, one_round
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"
WIDTH, HEIGHT, LEFT, TOP = 1180, 330, 30, 70
SIZE = 270, 186  # of a small lake
COLOURS, ROUNDS = 8, (0, 1, 20)
DIAGRAM = 220  # pixels on a side of the drawn colours


def main():
    image = np.asarray(resize(load_image(LAKE), SIZE), np.float32) / 255
    arrays = make_arrays(image.reshape(-1, 3).copy(), COLOURS, np.array)
    first_centres(Stages(), arrays, 1, launch)
    sheet, draw = paper(WIDTH, HEIGHT)
    done = 0
    for number, rounds in enumerate(ROUNDS):
        for _ in range(rounds - done):
            one_round(Stages(), arrays, launch, np.array)
        done = rounds
        Stages().assign(*arrays[:4], launch=launch)
        draw_round(sheet, draw, LEFT + number * (SIZE[0] + 22), rounds, image, arrays)
    draw_colours(draw, LEFT + 3 * (SIZE[0] + 22), arrays)
    save_in_256_colours(sheet, HERE / "picture.png")


def draw_round(sheet, draw, left, rounds, image, arrays):
    """The lake in the colours of now, and the colours, as wide as they are often used."""
    painted = arrays.centres[arrays.labels].reshape(image.shape)
    word = "drawn from the pixels" if rounds == 0 else f"after {rounds} round{'s'[: rounds > 1]}"
    headline(draw, left, word, f"{COLOURS} colours, {psnr(painted, image):.1f} dB")
    sheet.paste(Image.fromarray(to_uint8(painted)), (left, TOP))
    used = np.bincount(arrays.labels, minlength=COLOURS) / len(arrays.labels)
    x = float(left)
    for centre in np.argsort(-used):
        wide = used[centre] * SIZE[0]
        colour = tuple(to_uint8(arrays.centres[centre : centre + 1])[0].tolist())
        draw.rectangle((x, TOP + SIZE[1] + 10, x + wide, TOP + SIZE[1] + 34), colour)
        x += wide


def draw_colours(draw, left, arrays):
    """Every pixel as a dot, by its red and blue; the centres as circles."""
    headline(draw, left, "where the colours lie", "red to the right, blue upward")
    points, centres = arrays.points[::7], arrays.centres
    for point, label in zip(points, arrays.labels[::7], strict=True):
        x, y = place_of(point, left)
        draw.point((x, y), tuple(to_uint8(centres[label : label + 1])[0].tolist()))
    for centre in centres:
        x, y = place_of(centre, left)
        colour = tuple(to_uint8(centre[np.newaxis])[0].tolist())
        draw.ellipse((x - 7, y - 7, x + 7, y + 7), colour, INK, 2)
    draw.text((left, TOP + DIAGRAM + 12), "a circle is the mean of its dots", MUTED, font(14), "la")


def place_of(colour, left):
    return left + colour[0] * DIAGRAM, TOP + (1 - colour[2]) * DIAGRAM


if __name__ == "__main__":
    main()
