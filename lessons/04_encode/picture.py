"""Draw this lesson's picture: each of the sixteen channels, for every point of the lake.

    python -m lessons.04_encode.picture

The feature grid is the lake itself, shrunk to 25 x 17 cells: a grid that training might find.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.config import FEATURES
from kernels.encode import launch_encode
from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import INK, MUTED, PAPER, font
from kernels.image_ops import downsample, launch_over_pixels
from kernels.sampler import launch_pixel_centres
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

GRID_WIDTH, GRID_HEIGHT = 25, 17
WIDTH, HEIGHT = 200, 136  # of one drawn channel
GAP, TOP, LEFT = 16, 52, 24
COLUMNS = 4
NAMES = (
    "grid, red", "grid, green", "grid, blue", "where in the cell, u",
    "where in the cell, v", "u: sine, one wave", "u: cosine, one wave", "u: sine, two waves",
    "u: cosine, two waves", "v: sine, one wave", "v: cosine, one wave", "v: sine, two waves",
    "v: cosine, two waves", "one", "one", "one",
)  # fmt: skip


def main():
    grid = np.zeros((GRID_HEIGHT, GRID_WIDTH, 3), np.float32)
    launch_over_pixels(downsample, load_image(LAKE), grid, launch)
    uv = np.zeros((WIDTH * HEIGHT, 2), np.float32)
    launch_pixel_centres(0, WIDTH, HEIGHT, uv, launch)
    features = np.zeros((WIDTH * HEIGHT, FEATURES), np.float32)
    launch_encode(uv, grid, features, launch)
    picture = paint(features.reshape(HEIGHT, WIDTH, FEATURES))
    save_in_256_colours(picture, HERE / "picture.png")


def paint(features):
    rows = FEATURES // COLUMNS
    size = 2 * LEFT + COLUMNS * (WIDTH + GAP) - GAP, rows * (HEIGHT + TOP) + GAP
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    for channel, name in enumerate(NAMES):
        x = LEFT + channel % COLUMNS * (WIDTH + GAP)
        y = channel // COLUMNS * (HEIGHT + TOP)
        draw.text((x, y + 10), f"channel {channel}", INK, font(16), "la")
        draw.text((x, y + 30), name, MUTED, font(14), "la")
        values = features[:, :, channel]
        if channel >= 3:  # sinusoids go from -1 to 1
            values = (values + 1) / 2
        shown = Image.fromarray(to_uint8(np.repeat(values[:, :, np.newaxis], 3, axis=2)))
        sheet.paste(shown, (x, y + TOP))
        draw.rectangle((x - 1, y + TOP - 1, x + WIDTH, y + TOP + HEIGHT), outline=MUTED)
    return sheet


if __name__ == "__main__":
    main()
