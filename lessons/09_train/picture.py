"""Draw this lesson's picture: what the network paints after more and more steps.

    python -m lessons.09_train.picture

It trains with the fast CPU version of the same steps, for about ten seconds.
"""

from pathlib import Path

from PIL import Image, ImageDraw

from kernels.config import Config
from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import save_in_256_colours
from kernels.files.psnr import psnr
from kernels.files.style import INK, MUTED, PAPER, font
from kernels.training.cpu_backend import CpuBackend
from kernels.training.trainer import Trainer

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

SHOWN_AFTER = 0, 1, 10, 100, 1000
STEPS, BATCH = 1000, 4096  # as `train.py --use lessons` on a machine without a GPU
CROP = 330, 230, 650, 450  # left, top, right, bottom
WIDTH, HEIGHT, GAP, TOP = 320, 220, 20, 62


def main():
    image = load_image(LAKE)
    trainer = Trainer(image, Config(steps=STEPS, batch=BATCH), CpuBackend)
    panels = []
    for step in SHOWN_AFTER:
        trainer.advance(step)
        panels.append((f"after step {step:,}", trainer.render()))
    panels.append(("the baseline", trainer.baseline()))
    sheet = paint(panels, image)
    save_in_256_colours(sheet, HERE / "picture.png")


def paint(panels, image):
    columns = 3
    rows = -(-len(panels) // columns)
    size = GAP + columns * (WIDTH + GAP), rows * (HEIGHT + TOP) + GAP
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    left, top, right, bottom = CROP
    for number, (name, picture) in enumerate(panels):
        x = GAP + number % columns * (WIDTH + GAP)
        y = number // columns * (HEIGHT + TOP)
        draw.text((x, y + 12), name, INK, font(20), "la")
        draw.text(
            (x, y + 37), f"whole picture: {psnr(picture, image):.2f} dB", MUTED, font(15), "la"
        )
        crop = Image.fromarray(to_uint8(picture[top:bottom, left:right]))
        sheet.paste(crop, (x, y + TOP))
    return sheet


if __name__ == "__main__":
    main()
