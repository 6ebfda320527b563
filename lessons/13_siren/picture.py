"""Draw this lesson's picture: a unit and its slope, and what units of each layer paint.

python -m lessons.13_siren.picture
"""

import math
from pathlib import Path

import numpy as np
from PIL import Image

from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import fit, save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, font, paper
from kernels.siren.network import Siren, launch_forward, new_batch
from kernels.siren.positions import launch_pixel_positions
from lessons.capstones.device import native_device

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

STEPS, LEARNED_WIDTH = 200, 200
TILE_WIDTH, TILE_HEIGHT, GAP = 128, 88, 8
LAYERS, UNITS = (1, 2, 3, 5, 7, 9), (3, 11, 40)
WIDTH, HEIGHT, TOP = 1290, 450, 66
CURVES, TILES = 30, 320  # where they begin
SINE, SLOPE = (0, 114, 178), (213, 94, 0)
# A unit at -1 is drawn in the first colour, at 0 in the second, at 1 in the third.
LOW, MIDDLE, HIGH = ((20, 60, 140), (245, 245, 242), (180, 70, 10))


def main():
    image = np.asarray(fit(load_image(LAKE), LEARNED_WIDTH), np.float32) / 255
    siren = Siren(image, 1, 1024, native_device())
    for step in range(1, STEPS + 1):
        siren.train(step)
    sheet, draw = paper(WIDTH, HEIGHT)
    draw_unit(draw)
    draw_layers(sheet, draw, *values_everywhere(siren))
    save_in_256_colours(sheet, HERE / "picture.png")


def values_everywhere(siren):
    """(what each sine layer's units are at each pixel of a tile, the colours there)."""
    pixels = TILE_WIDTH * TILE_HEIGHT
    batch = new_batch(pixels, siren.shapes, siren.device.empty)
    launch = siren.device.launch
    launch_pixel_positions(0, TILE_WIDTH, TILE_HEIGHT, batch.positions, launch)
    launch_forward(siren.network, batch, launch=launch)
    return batch.outputs, batch.colours.reshape(TILE_HEIGHT, TILE_WIDTH, 3)


# ---------------------------------------------------------------- a unit


def draw_unit(draw):
    """sin(omega s) and its slope omega cos(omega s): omega times as high."""
    omega, left, width, height = 2.0, CURVES + 26, 190, 126
    draw.text((CURVES, 14), "a unit", INK, font(20), "la")
    draw.text((CURVES, 40), "and the slope that is kept for the way back", MUTED, font(13), "la")
    sums = np.linspace(-math.pi, math.pi, 200)
    curves = (
        (TOP, np.sin(omega * sums), SINE, "output = sin(omega s)"),
        (TOP + height + 42, omega * np.cos(omega * sums), SLOPE, "slope = omega cos(omega s)"),
    )
    for top, values, colour, words in curves:
        middle = top + height / 2
        unit = height / 2 / omega  # pixels for 1, the same in both: so omega is seen
        for number in (-2, -1, 0, 1, 2):
            y = middle - number * unit
            draw.line((left, y, left + width, y), GRID, 2 if number == 0 else 1)
            draw.text((left - 8, y), f"{number}", MUTED, font(12), "rm")
        points = [
            (left + width * i / (len(sums) - 1), middle - unit * value)
            for i, value in enumerate(values)
        ]
        draw.line(points, colour, 3, joint="curve")
        draw.text((left, top + height + 6), words, colour, font(15), "la")
    draw.text((CURVES, HEIGHT - 36), "s: products and bias; omega = 2 here", MUTED, font(13), "la")


# ---------------------------------------------------------------- the layers


def draw_layers(sheet, draw, outputs, colours):
    draw.text((TILES, 14), "what units paint", INK, font(20), "la")
    words = f"three of the 64 of a layer, after {STEPS} steps: waves, then waves of waves"
    draw.text((TILES, 40), words, MUTED, font(13), "la")
    for column, layer in enumerate(LAYERS):
        left = TILES + column * (TILE_WIDTH + GAP)
        for row, unit in enumerate(UNITS):
            values = outputs[layer - 1][:, unit].reshape(TILE_HEIGHT, TILE_WIDTH)
            sheet.paste(tile(values), (left, TOP + row * (TILE_HEIGHT + GAP)))
        y = TOP + len(UNITS) * (TILE_HEIGHT + GAP) + 4
        draw.text((left, y), f"layer {layer}", INK, font(15), "la")
    left = TILES + len(LAYERS) * (TILE_WIDTH + GAP)
    middle = TOP + TILE_HEIGHT + GAP
    sheet.paste(Image.fromarray(to_uint8(colours)), (left, middle))
    y = TOP + len(UNITS) * (TILE_HEIGHT + GAP) + 4
    draw.text((left, y), "layer 10: colours", INK, font(15), "la")
    draw.text((TILES, HEIGHT - 36), "a unit is between -1", MUTED, font(13), "la")
    draw_scale(draw, TILES + 132, HEIGHT - 37)
    draw.text((TILES + 272, HEIGHT - 36), "and 1", MUTED, font(13), "la")


def tile(values):
    """(H, W) in [-1, 1] as an image."""
    low, middle, high = (np.array(colour, float) for colour in (LOW, MIDDLE, HIGH))
    share = np.clip(values, -1, 1)[:, :, np.newaxis]
    coloured = middle + np.where(share < 0, -share * (low - middle), share * (high - middle))
    return Image.fromarray(np.round(coloured).astype(np.uint8))


def draw_scale(draw, left, top):
    for x in range(128):
        colour = tile(np.array([[x / 63.5 - 1]])).getpixel((0, 0))
        draw.line((left + x, top, left + x, top + 18), colour)


if __name__ == "__main__":
    main()
