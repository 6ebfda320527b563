"""Draw this lesson's picture: the points of two steps, and a whole batch, in their colours.

python -m lessons.03_sampler.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.images import load_image
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import INK, MUTED, PAPER, font
from kernels.sampler import launch_sample_batch
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

SEED = 1
PANELS = ((1, 600, 4.0), (2, 600, 4.0), (3, 16_384, 1.4))  # step, samples, radius
WIDTH, HEIGHT, GAP, TOP = 320, 220, 20, 62


def main():
    image = load_image(LAKE)
    size = GAP + len(PANELS) * (WIDTH + GAP), TOP + HEIGHT + GAP
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    for number, (step, samples, radius) in enumerate(PANELS):
        uv, target = sample(image, step, samples)
        x = GAP + number * (WIDTH + GAP)
        draw.text((x, 12), f"step {step}", INK, font(20), "la")
        draw.text((x, 37), f"{samples:,} samples", MUTED, font(15), "la")
        draw.rectangle((x - 1, TOP - 1, x + WIDTH, TOP + HEIGHT), outline=MUTED)
        sheet.paste(dots(uv, target, radius), (x, TOP))
    save_in_256_colours(sheet, HERE / "picture.png")


def sample(image, step, samples):
    uv, target = np.zeros((samples, 2), np.float32), np.zeros((samples, 3), np.float32)
    launch_sample_batch(image, SEED, step, uv, target, launch)
    return uv, target


def dots(uv, target, radius, scale=3):
    """A panel with a dot for each sample, drawn larger and averaged down to make it smooth."""
    panel = Image.new("RGB", (WIDTH * scale, HEIGHT * scale), PAPER)
    draw = ImageDraw.Draw(panel)
    for (u, v), colour in zip(uv, target, strict=True):
        x, y, r = u * WIDTH * scale, v * HEIGHT * scale, radius * scale
        draw.ellipse((x - r, y - r, x + r, y + r), tuple(int(255 * c) for c in colour))
    return panel.reduce(scale)


if __name__ == "__main__":
    main()
