"""Draw this lesson's picture: the way forward, the way back, and where the gradient arrives.

    python -m lessons.07_backward.picture

The gradients are those of the lake after 30 steps, when the network has begun to learn.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.backward import launch_backward
from kernels.config import Config
from kernels.files.images import load_image
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font
from kernels.sampler import launch_sample_batch
from kernels.training.trainer import Trainer
from kernels.training_step import evaluate
from lessons.lab.compiled.engine import launch
from lessons.native_backend import NativeBackend

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"
STEPS, BATCH = 30, 4096

BLUE, RED, PALE = (0, 114, 178), (213, 40, 40), (232, 237, 243)
WIDTH, HEIGHT, LEFT = 1180, 600, 30
STOPS = ("grid", "features", "sums", "hidden 1", "sums", "hidden 2", "sums", "colour", "loss")
# Between two stops: what happens on the way forward, and the factor on the way back.
FORWARD = ("blend", "x W1", "ReLU", "x W2", "ReLU", "x W3", "sigmoid", "error^2")
BACK = ("scatter", "x W1^T", "mask", "x W2^T", "mask", "x W3^T", "y (1-y)", "2 error")
PRODUCTS = {1: "features^T delta", 3: "hidden 1^T delta", 5: "hidden 2^T delta"}
STOP_WIDTH, STOP_HEIGHT, CHAIN_TOP = 78, 44, 92


def main():
    sheet = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw_chain(draw)
    draw_gradients(sheet, draw)
    save_in_256_colours(sheet, HERE / "picture.png")


# ---------------------------------------------------------------- the chain


def draw_chain(draw):
    pitch = (WIDTH - 2 * LEFT - STOP_WIDTH) / (len(STOPS) - 1)
    middle = CHAIN_TOP + STOP_HEIGHT // 2
    draw.text((LEFT, 16), "forward: numbers,", BLUE, font(18), "la")
    x = LEFT + font(18).getlength("forward: numbers, ")
    draw.text((x, 16), "back: delta, the gradient so far, times a factor", RED, font(18), "la")
    for number, name in enumerate(STOPS):
        x = LEFT + number * pitch
        draw.rectangle((x, CHAIN_TOP, x + STOP_WIDTH, CHAIN_TOP + STOP_HEIGHT), PALE)
        draw.text((x + STOP_WIDTH / 2, middle), name, INK, font(15), "mm")
        if number == len(FORWARD):
            continue
        begin, end = x + STOP_WIDTH + 4, x + pitch - 4
        centre = (begin + end) / 2
        arrow(draw, begin, end, middle - 10, BLUE)
        arrow(draw, end, begin, middle + 10, RED)
        draw.text((centre, CHAIN_TOP - 14), FORWARD[number], BLUE, font(14), "mm")
        draw.text((centre, CHAIN_TOP + STOP_HEIGHT + 16), BACK[number], RED, font(14), "mm")
        if number in PRODUCTS:
            draw.line((centre, middle + 50, centre, middle + 96), RED, 2)
            draw.polygon(
                [
                    (centre - 5, middle + 96),
                    (centre + 5, middle + 96),
                    (centre, middle + 104),
                ],
                RED,
            )
            draw.text((centre, middle + 116), PRODUCTS[number], INK, font(14), "mm")


def arrow(draw, begin, end, y, colour):
    tip = 7 if end > begin else -7
    draw.line((begin, y, end - tip, y), colour, 2)
    draw.polygon([(end - tip, y - 4), (end - tip, y + 4), (end, y)], colour)


# ---------------------------------------------------------------- the gradients


def gradients_of_the_lake():
    """(grad_feature_grid, list of the three weight gradients) of one batch."""
    image = load_image(LAKE)
    config = Config(batch=BATCH)
    trainer = Trainer(image, config, NativeBackend)
    trainer.advance(STEPS)
    arrays = trainer.backend.arrays
    launch_sample_batch(image, config.seed, STEPS + 1, arrays.uv, arrays.target, launch)
    evaluate(trainer.backend.stages, arrays, launch)
    launch_backward(
        arrays.uv, arrays.features, arrays.hidden, arrays.outputs, arrays.target,
        arrays.parameters.weights, arrays.grad_weights, arrays.grad_feature_grid,
        arrays.loss_sum, launch,
    )  # fmt: skip
    parts, begin = [], 0
    for fan_in, fan_out in zip((16, 32, 32), (32, 32, 16), strict=True):
        part = arrays.grad_weights[begin : begin + fan_in * fan_out]
        parts.append(part.reshape(fan_in, fan_out))
        begin += fan_in * fan_out
    return arrays.grad_feature_grid, parts


def draw_gradients(sheet, draw):
    grid, weights = gradients_of_the_lake()
    top = 312
    draw.text((LEFT, top - 44), "gradient of the feature grid,", INK, font(16), "la")
    draw.text(
        (LEFT, top - 22),
        f"one batch of {BATCH:,} samples, after {STEPS} steps",
        MUTED,
        font(14),
        "la",
    )
    sheet.paste(picture_of(np.abs(grid).sum(axis=2), (380, 260), (0.0, 99.0)), (LEFT, top))
    x = 500
    for number, gradient in enumerate(weights, 1):
        rows, columns = gradient.shape
        draw.text((x, top - 22), f"gradient of W{number}, {rows} x {columns}", INK, font(14), "la")
        size = columns * 6, rows * 6
        sheet.paste(picture_of(np.abs(gradient), size, (0.0, 99.0)), (x, top))
        draw.rectangle((x - 1, top - 1, x + size[0], top + size[1]), None, GRID)
        x += 230
    words = (
        "White: no gradient. An empty column: the mask blocks this unit in every sample.",
        "An empty row: this input is zero in every sample.",
        "Only three columns of W3 have a gradient: red, green and blue.",
    )
    for number, line in enumerate(words):
        draw.text((500, top + 214 + 22 * number), line, MUTED, font(14), "la")


def picture_of(values, size, percentiles):
    """Values as shades from white (nothing) to dark red (the largest)."""
    low, high = np.percentile(values, percentiles)
    level = np.clip((values - low) / (high - low), 0, 1)[..., np.newaxis]
    white, middle, dark = (
        np.array(c, float) for c in ((255, 255, 255), (240, 150, 60), (120, 0, 30))
    )
    first = white + (middle - white) * np.minimum(2 * level, 1)
    shades = np.where(level < 0.5, first, middle + (dark - middle) * (2 * level - 1))
    panel = Image.fromarray(np.round(shades).astype(np.uint8))
    return panel.resize(size, Image.Resampling.NEAREST)


if __name__ == "__main__":
    main()
