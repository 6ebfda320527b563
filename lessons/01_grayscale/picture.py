"""Draw this lesson's picture: a small lake, the threads that make it gray, and the result.

python -m lessons.01_grayscale.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kernels.files.images import load_image, to_uint8
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import INK, MUTED, PAPER, font
from kernels.image_ops import downsample, grayscale
from kernels.launch import blocks_for
from lessons.lab import checked_run, native
from lessons.lab.simulator.picture_array import BLOCK_COLOURS

HERE = Path(__file__).parent
LAKE = HERE.parent.parent / "images" / "lake.png"

WIDTH, HEIGHT = 14, 9  # pixels of the small lake
BLOCK = 4  # threads per side; small enough to draw them all
CHOSEN = 11, 6  # a pixel of a red chair; the picture names its thread
CELL = 26  # drawn size of one pixel or thread
LEFT, TOP, GAP, BOTTOM = 40, 76, 56, 84
IDLE = (238, 239, 241)


def main():
    image = small_lake()
    gray = np.zeros((HEIGHT, WIDTH), np.float32)
    blocks = blocks_for(WIDTH, BLOCK), blocks_for(HEIGHT, BLOCK)
    report = checked_run(grayscale, blocks, (BLOCK, BLOCK), image, gray)
    assert report.ok, report
    picture = paint(image, gray, blocks)
    save_in_256_colours(picture, HERE / "picture.png")


def small_lake():
    """The lake, averaged down to WIDTH x HEIGHT by the kernel that lesson 2 is about."""
    image = np.zeros((HEIGHT, WIDTH, 3), np.float32)
    native(downsample)[1, (WIDTH, HEIGHT)](load_image(LAKE), image)
    return image


def paint(image, gray, blocks):
    threads_wide, threads_high = blocks[0] * BLOCK, blocks[1] * BLOCK
    second = LEFT + WIDTH * CELL + GAP
    third = second + threads_wide * CELL + GAP
    size = third + WIDTH * CELL + LEFT, TOP + threads_high * CELL + BOTTOM
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)

    draw_pixels(sheet, image, LEFT)
    draw_threads(draw, second, threads_wide, threads_high)
    draw_pixels(sheet, np.repeat(gray[:, :, np.newaxis], 3, axis=2), third)
    headings = [
        (LEFT, "image", f"{HEIGHT} rows of {WIDTH} pixels"),
        (second, "threads", f"{blocks[0]} x {blocks[1]} blocks of {BLOCK} x {BLOCK}"),
        (third, "gray", "each pixel written by one thread"),
    ]
    for x, name, details in headings:
        draw.text((x, 24), name, INK, font(20), "la")
        draw.text((x, 50), details, MUTED, font(15), "la")

    draw_blocks(draw, second, blocks)
    for left in (LEFT, second, third):
        mark_chosen(draw, left)
    caption(draw, second, TOP + threads_high * CELL + 12)
    return sheet


def draw_pixels(sheet, image, left):
    pixels = Image.fromarray(to_uint8(image))
    size = WIDTH * CELL, HEIGHT * CELL
    sheet.paste(pixels.resize(size, Image.Resampling.NEAREST), (left, TOP))


def draw_threads(draw, left, threads_wide, threads_high):
    for y in range(threads_high):
        for x in range(threads_wide):
            box = cell_box(left, x, y)
            if x >= WIDTH or y >= HEIGHT:
                draw.rectangle(box, IDLE)
                draw.line((box[0] + 7, box[1] + 7, box[2] - 7, box[3] - 7), MUTED)
                draw.line((box[0] + 7, box[3] - 7, box[2] - 7, box[1] + 7), MUTED)
                continue
            number = x // BLOCK + 4 * (y // BLOCK)
            draw.rectangle(box, pale(BLOCK_COLOURS[number % len(BLOCK_COLOURS)]))
            local = f"{x % BLOCK},{y % BLOCK}"
            draw.text((box[0] + 12, box[1] + 12), local, INK, font(11), "mm")


def pale(colour):
    return tuple((channel + 2 * 255) // 3 for channel in colour)


def draw_blocks(draw, left, blocks):
    side = BLOCK * CELL
    for row in range(blocks[1]):
        for column in range(blocks[0]):
            x, y = left + column * side, TOP + row * side
            draw.rectangle((x - 1, y - 1, x + side - 1, y + side - 1), outline=INK, width=2)


def mark_chosen(draw, left):
    x, y = CHOSEN
    draw.rectangle(cell_box(left, x, y), outline=(213, 40, 40), width=3)


def cell_box(left, x, y):
    return (
        left + x * CELL,
        TOP + y * CELL,
        left + (x + 1) * CELL - 2,
        TOP + (y + 1) * CELL - 2,
    )


def caption(draw, left, top):
    x, y = CHOSEN
    block, thread = (x // BLOCK, y // BLOCK), (x % BLOCK, y % BLOCK)
    text = f"thread {thread} of block {block}: x = {block[0]} * {BLOCK} + {thread[0]} = {x}, "
    text += f"y = {block[1]} * {BLOCK} + {thread[1]} = {y}"
    draw.text((left, top), text, (213, 40, 40), font(15), "la")
    draw.text((left, top + 24), "crossed out: threads with no pixel", MUTED, font(15), "la")


if __name__ == "__main__":
    main()
