"""Draw this lesson's picture: the lake shrunk and enlarged again, and how both are computed.

python -m lessons.02_resample.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.field_math import corner_weights, overlap
from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import save_in_256_colours
from kernels.files.psnr import psnr
from kernels.files.style import GRID, INK, MUTED, PAPER, font
from kernels.image_ops import downsample, launch_over_pixels, upsample
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

SMALL_WIDTH, SMALL_HEIGHT = 200, 137
CROP = 410, 310, 570, 420  # left, top, right, bottom: the red chairs
ZOOM = 2.4

PIXELS, CELLS, CHOSEN_CELL = 14, 5, 1  # of the drawing of `overlap`
FRACTIONS = 0.7, 0.4  # of the drawing of the corner weights

LEFT, GAP = 40, 24
BLUE, ORANGE, RED = (0, 114, 178), (230, 159, 0), (213, 40, 40)


def main():
    lake = load_image(LAKE)
    small = np.zeros((SMALL_HEIGHT, SMALL_WIDTH, 3), np.float32)
    large = np.zeros_like(lake)
    launch_over_pixels(downsample, lake, small, launch)
    launch_over_pixels(upsample, small, large, launch)
    panels = [
        ("the lake", "800 x 550 pixels", lake),
        (
            "downsample",
            f"{SMALL_WIDTH} x {SMALL_HEIGHT} pixels: a sixteenth",
            as_squares(small, lake),
        ),
        ("upsample", f"800 x 550 again: {psnr(large, lake):.2f} dB", large),
    ]
    picture = paint(panels)
    save_in_256_colours(picture, HERE / "picture.png")


def as_squares(small, lake):
    """Each pixel of `lake` gets the colour of the small pixel that it lies in."""
    rows = np.arange(lake.shape[0]) * small.shape[0] // lake.shape[0]
    columns = np.arange(lake.shape[1]) * small.shape[1] // lake.shape[1]
    return small[rows][:, columns]


def paint(panels):
    left, top, right, bottom = CROP
    width, height = round((right - left) * ZOOM), round((bottom - top) * ZOOM)
    total = LEFT * 2 + 3 * width + 2 * GAP
    sheet = Image.new("RGB", (total, 80 + height + 290), PAPER)
    draw = ImageDraw.Draw(sheet)
    for number, (name, details, image) in enumerate(panels):
        x = LEFT + number * (width + GAP)
        heading(draw, x, 20, name, details)
        crop = Image.fromarray(to_uint8(image[top:bottom, left:right]))
        sheet.paste(crop.resize((width, height), Image.Resampling.NEAREST), (x, 76))
    draw_overlap(draw, LEFT, 76 + height + 36)
    draw_corners(draw, LEFT + 2 * (width + GAP) - 60, 76 + height + 36)
    return sheet


def heading(draw, x, y, name, details):
    draw.text((x, y), name, INK, font(20), "la")
    draw.text((x, y + 27), details, MUTED, font(15), "la")


def draw_overlap(draw, x, y):
    """A line of pixels above the cells it is averaged to, with the weights of one cell."""
    side = 46
    cell_side = side * PIXELS / CELLS
    text = f"cell {CHOSEN_CELL} of {CELLS} covers {PIXELS / CELLS:g} pixels"
    heading(draw, x, y, f"{PIXELS} pixels, {CELLS} cells", text)
    y += 84
    for cell in range(CELLS):
        chosen = cell == CHOSEN_CELL
        box = (x + cell * cell_side, y + 64, x + (cell + 1) * cell_side - 2, y + 104)
        draw.rectangle(box, BLUE if chosen else GRID)
        middle = (box[0] + box[2]) / 2, y + 84
        draw.text(middle, f"cell {cell}", PAPER if chosen else MUTED, font(15), "mm")
    for pixel in range(PIXELS):
        covered = max(0.0, float(overlap(CHOSEN_CELL, CELLS, pixel, PIXELS)))
        box = (x + pixel * side, y, x + (pixel + 1) * side - 2, y + 44)
        draw.rectangle(box, GRID)
        if covered:
            begin = x + max(pixel * side, CHOSEN_CELL * cell_side)
            draw.rectangle((begin, y, begin + covered * side - 2, y + 44), (190, 219, 238))
            draw.text((box[0] + side / 2, y - 14), f"{covered:g}", BLUE, font(15), "mm")
        # To the left, where the edges of the chosen cell do not cross it.
        draw.text((box[0] + 6, y + 22), str(pixel), INK, font(15), "lm")
    for edge in (CHOSEN_CELL, CHOSEN_CELL + 1):
        at = x + edge * cell_side - 1
        draw.line((at, y, at, y + 64), BLUE, 2)


def draw_corners(draw, x, y):
    """Four pixel centres, a point between them, and the four areas that are their weights."""
    heading(draw, x, y, "between four pixel centres", "the weight of a corner: the area opposite")
    x, y, side = x + 96, y + 84, 130
    weights = [float(w) for w in corner_weights(*map(np.float32, FRACTIONS))]
    point = x + FRACTIONS[0] * side, y + FRACTIONS[1] * side
    corners = [(x, y), (x + side, y), (x, y + side), (x + side, y + side)]
    # The top left corner weighs as much as the rectangle at the bottom right is large.
    draw.rectangle((*point, x + side, y + side), (250, 226, 178))
    draw.rectangle((x, y, x + side, y + side), outline=MUTED)
    draw.line((point[0], y, point[0], y + side), MUTED)
    draw.line((x, point[1], x + side, point[1]), MUTED)
    names = ["top left", "top right", "bottom left", "bottom right"]
    for (cx, cy), weight, name in zip(corners, weights, names, strict=True):
        draw.ellipse((cx - 7, cy - 7, cx + 7, cy + 7), ORANGE if name == names[0] else INK)
        right = cx > x
        anchor = "lm" if right else "rm"
        text_x = cx + 14 if right else cx - 14
        draw.text((text_x, cy - 9), f"{weight:.2f}", INK, font(16), anchor)
        draw.text((text_x, cy + 9), name, MUTED, font(13), anchor)
    draw.ellipse((point[0] - 6, point[1] - 6, point[0] + 6, point[1] + 6), RED)
    text = f"x_fraction {FRACTIONS[0]}\ny_fraction {FRACTIONS[1]}"
    draw.multiline_text((x + side + 14, point[1]), text, RED, font(15), "lm")


if __name__ == "__main__":
    main()
