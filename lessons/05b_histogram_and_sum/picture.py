"""Draw this lesson's picture: histograms of four blocks become one, and a tree of sums.

python -m lessons.05b_histogram_and_sum.picture
"""

import itertools
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.images import load_image
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font
from kernels.histogram import BLOCK_THREADS, PIXELS_PER_THREAD, launch_histogram_shared
from kernels.image_ops import grayscale, launch_over_pixels
from kernels.launch import blocks_for
from lessons.lab.compiled.engine import launch

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

BLOCKS, BINS = 4, 48  # drawn
FINE_BINS = 256  # in the words below
BLOCK_COLOURS = ((0, 114, 178), (230, 159, 0), (0, 140, 100), (204, 121, 167))
RED = (213, 40, 40)
WIDTH, HEIGHT, LEFT, TOP = 1180, 560, 30, 62
LAKE_SIZE = 300, 206
RUN_ROWS, RUN_HEIGHT = 5, 9  # of the lake's first rows, enlarged
BAR = 4  # pixels per bin
TREE_LEFT, CELL_WIDTH, CELL_HEIGHT, ROUND_HEIGHT = 700, 52, 30, 76


def main():
    sheet = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw_histograms(sheet, draw)
    draw_tree(draw)
    save_in_256_colours(sheet, HERE / "picture.png")


# ---------------------------------------------------------------- histograms


def draw_histograms(sheet, draw):
    image = load_image(LAKE)
    gray = np.empty(image.shape[:2], np.float32)
    launch_over_pixels(grayscale, image, gray, launch)
    draw.text((LEFT, 12), "histogram", INK, font(20), "la")
    draw.text((LEFT, 37), "each block counts for itself, ...", MUTED, font(14), "la")
    paste_lake(sheet, gray)
    draw_runs(draw, gray.shape)
    # Runs of a block's threads go to the blocks in turn, as in the kernel.
    block_of = np.arange(gray.size) // BLOCK_THREADS % BLOCKS
    own_counts = [histogram(gray.ravel()[block_of == block]) for block in range(BLOCKS)]
    height = LAKE_SIZE[1] // BLOCKS
    for number, counts in enumerate(own_counts):
        top = TOP + number * height
        colour = BLOCK_COLOURS[number]
        draw_bars(draw, LEFT + LAKE_SIZE[0] + 50, top + height - 4, 40, [counts], [colour])
    draw.text((LEFT, TOP + 310), "... and adds its counts to those of all,", MUTED, font(14), "la")
    draw.text((LEFT, TOP + 330), "one atomic addition per bin", MUTED, font(14), "la")
    draw_bars(draw, LEFT + LAKE_SIZE[0] + 50, TOP + 384, 144, own_counts, BLOCK_COLOURS)
    draw_axis(draw, LEFT + LAKE_SIZE[0] + 50, TOP + 390)
    draw_additions(draw, gray.size)


def paste_lake(sheet, gray):
    picture = Image.fromarray(np.round(gray * 255).astype(np.uint8))
    sheet.paste(picture.resize(LAKE_SIZE, Image.Resampling.LANCZOS), (LEFT, TOP))


def draw_runs(draw, shape):
    """Which block each pixel of the first rows belongs to, beneath the lake."""
    scale, top = LAKE_SIZE[0] / shape[1], TOP + LAKE_SIZE[1] + 8
    words = f"the first {RUN_ROWS} rows: {BLOCK_THREADS} pixels to each block, in turn"
    draw.text((LEFT, top + RUN_ROWS * RUN_HEIGHT + 4), words, MUTED, font(14), "la")
    for row in range(RUN_ROWS):
        ends = {
            *range(0, (row + 1) * shape[1], BLOCK_THREADS),
            row * shape[1],
            (row + 1) * shape[1],
        }
        ends = sorted(end - row * shape[1] for end in ends if end >= row * shape[1])
        for first, end in itertools.pairwise(ends):
            block = (row * shape[1] + first) // BLOCK_THREADS % BLOCKS
            x, y = LEFT + first * scale, top + row * RUN_HEIGHT
            box = x, y, LEFT + end * scale - 2, y + RUN_HEIGHT - 2
            draw.rectangle(box, BLOCK_COLOURS[block])


def histogram(brightness):
    counts = np.zeros(BINS, np.int32)
    launch_histogram_shared(brightness, counts, launch)
    return counts


def draw_bars(draw, left, bottom, height, layers, colours):
    """Bars of `layers`, one on the other; the highest is `height` pixels high."""
    scale = height / np.sum(layers, axis=0).max()
    for number in range(BINS):
        x, y = left + number * BAR, float(bottom)
        for counts, colour in zip(layers, colours, strict=True):
            upper = y - counts[number] * scale
            if y - upper >= 0.5:
                draw.rectangle((x, round(upper), x + BAR - 2, round(y) - 1), colour)
            y = upper
    draw.line((left, bottom, left + BINS * BAR, bottom), GRID, 1)


def draw_axis(draw, left, y):
    draw.text((left, y), "0: black", MUTED, font(13), "la")
    draw.text((left + BINS * BAR, y), "1: white", MUTED, font(13), "ra")


def draw_additions(draw, pixels):
    blocks = blocks_for(pixels, BLOCK_THREADS * PIXELS_PER_THREAD)
    words = (
        f"the lake: {pixels:,} pixels, {FINE_BINS} bins, {blocks} blocks",
        f"additions to global memory, one per pixel: {pixels:,}",
        f"one per bin and block: {blocks * FINE_BINS:,}",
    )
    for number, line in enumerate(words):
        draw.text((LEFT, HEIGHT - 84 + 24 * number), line, INK, font(15), "la")


# ---------------------------------------------------------------- the tree


def draw_tree(draw):
    """A block of 8 threads; below, what lies in shared memory after each round."""
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    draw.text((TREE_LEFT, 12), "sum", INK, font(20), "la")
    draw.text((TREE_LEFT, 37), "a block of 8 threads halves its sums", MUTED, font(14), "la")
    for thread in range(len(values)):
        x = TREE_LEFT + thread * CELL_WIDTH + (CELL_WIDTH - 4) / 2
        draw.text((x, TOP + 12), f"thread {thread}", MUTED, font(12), "mm")
    top, active = TOP + 26, len(values) // 2
    draw_sums(draw, top, values, len(values))
    while active:
        draw_round(draw, top + CELL_HEIGHT, active)
        values = [
            value + (values[i + active] if i < active else 0) for i, value in enumerate(values)
        ]
        top += ROUND_HEIGHT
        draw_sums(draw, top, values, active)
        x = TREE_LEFT + len(values) * CELL_WIDTH
        draw.text((x - 4, top - 10), f"active = {active}", INK, font(13), "rs")
        active //= 2
    x = centre_of(0)
    draw.line((x, top + CELL_HEIGHT, x, top + CELL_HEIGHT + 34), RED, 2)
    draw.polygon(
        [
            (x - 5, top + CELL_HEIGHT + 34),
            (x + 5, top + CELL_HEIGHT + 34),
            (x, top + CELL_HEIGHT + 42),
        ],
        RED,
    )
    draw.text(
        (x + 16, top + CELL_HEIGHT + 22),
        "one atomic addition to the total, by thread 0",
        RED,
        font(14),
        "lm",
    )
    y = HEIGHT - 60
    draw.text(
        (TREE_LEFT, y),
        "Colour: what this round has computed. Between rounds: a barrier.",
        MUTED,
        font(14),
        "la",
    )
    draw.text((TREE_LEFT, y + 24), "256 partial sums take 8 rounds.", INK, font(15), "la")


def draw_sums(draw, top, values, fresh):
    for thread, value in enumerate(values):
        x = TREE_LEFT + thread * CELL_WIDTH
        colour = BLOCK_COLOURS[0] if thread < fresh else GRID
        draw.rectangle((x, top, x + CELL_WIDTH - 4, top + CELL_HEIGHT), colour)
        ink = PAPER if thread < fresh else MUTED
        draw.text((centre_of(thread), top + CELL_HEIGHT / 2), str(value), ink, font(15), "mm")


def draw_round(draw, top, active):
    """Lines from what is added to where the sum goes."""
    for thread in range(active):
        below = centre_of(thread), top + ROUND_HEIGHT - CELL_HEIGHT
        draw.line((centre_of(thread + active), top, *below), MUTED, 1)
        draw.line((centre_of(thread), top, *below), MUTED, 1)


def centre_of(thread):
    return TREE_LEFT + thread * CELL_WIDTH + (CELL_WIDTH - 4) / 2


if __name__ == "__main__":
    main()
