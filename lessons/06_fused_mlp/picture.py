"""Draw this lesson's picture: where the numbers live while a block runs the whole network.

python -m lessons.06_fused_mlp.picture
"""

from pathlib import Path

from PIL import Image, ImageDraw

from kernels.files.pictures import save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, PAPER, font

HERE = Path(__file__).parent

BLUE, ORANGE, RED, GREEN = (0, 114, 178), (230, 159, 0), (213, 40, 40), (0, 140, 100)
PALE = (236, 240, 245)
WIDTH, HEIGHT = 1100, 550
LAYERS = (("features", 16), ("hidden 1", 32), ("hidden 2", 32), ("outputs", 16))
UNIT = 4  # drawn pixels per unit
SAMPLES = 64
BATCH = 16_384
TOP, LEFT = 118, 40


def main():
    sheet = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw_global_memory(draw)
    draw_block(draw)
    draw_traffic(draw, 410)
    save_in_256_colours(sheet, HERE / "picture.png")


def draw_global_memory(draw):
    draw.text((LEFT, 30), "global memory", INK, font(18), "la")
    draw.text((LEFT, 72), "features", INK, font(16), "la")
    draw.text((LEFT, 94), "64 rows of B", MUTED, font(14), "la")
    draw.rectangle((LEFT, TOP, LEFT + 16 * UNIT, TOP + SAMPLES * 3), BLUE)
    arrow(draw, LEFT + 16 * UNIT + 12, 212, 50)
    draw.text((LEFT, 372), "weights: three matrices", INK, font(16), "la")
    draw.text((LEFT, 394), "fetched in tiles of 16 x 16", MUTED, font(14), "la")
    x = LEFT
    for fan_in, fan_out in zip([16, 32, 32], [32, 32, 16], strict=True):
        draw_matrix_of_tiles(draw, x, 424, fan_in, fan_out)
        x += fan_out * UNIT // 2 + 14
    right = 930
    arrow(draw, right - 62, 212, 50)
    draw.text((right, 30), "global memory", INK, font(18), "la")
    draw.text((right, 72), "hidden, outputs", INK, font(16), "la")
    draw.text((right, 94), "64 rows of each", MUTED, font(14), "la")
    for number, (width, colour) in enumerate(((32, GREEN), (32, GREEN), (16, RED))):
        top = TOP + number * 66
        draw.rectangle((right, top, right + width * UNIT, top + 60), colour)


def draw_matrix_of_tiles(draw, left, top, fan_in, fan_out):
    side = 16 * UNIT // 2
    for row in range(fan_in // 16):
        for column in range(fan_out // 16):
            x, y = left + column * side, top + row * side
            draw.rectangle((x, y, x + side - 2, y + side - 2), ORANGE)


def draw_block(draw):
    """The shared memory of one block: two buffers of activations, used in turns."""
    left, right, top, bottom = 190, 850, 16, 336
    draw.rectangle((left, top, right, bottom), PALE)
    draw.text((left + 16, 30), "shared memory of one block: 64 samples go through all layers",
              INK, font(18), "la")  # fmt: skip
    x = left + 24
    colours = (BLUE, GREEN, GREEN, RED)
    for number, ((name, width), colour) in enumerate(zip(LAYERS, colours, strict=True)):
        draw.text((x, 72), name, INK, font(16), "la")
        buffer = f"buffer {number % 2}" if number < 3 else "buffer 1"
        draw.text((x, 94), buffer, MUTED, font(14), "la")
        draw.rectangle((x, TOP, x + width * UNIT, TOP + SAMPLES * 3), colour)
        if number < 3:
            arrow(draw, x + width * UNIT + 6, 200, 42)
            words = "x W, ReLU" if number < 2 else "x W, sigmoid"
            draw.text((x + width * UNIT + 6, 216), words.split(", ")[0], INK, font(13), "la")
            draw.text((x + width * UNIT + 6, 232), words.split(", ")[1], INK, font(13), "la")
        x += width * UNIT + 62


def arrow(draw, x, y, length):
    draw.line((x, y, x + length, y), INK, 2)
    draw.polygon([(x + length, y - 5), (x + length, y + 5), (x + length + 8, y)], INK)


def draw_traffic(draw, top):
    """Numbers that cross the border of global memory for a batch, by counting."""
    hidden = 2 * 32 * BATCH
    layer_by_layer = 16 * BATCH + 2 * hidden + 16 * BATCH
    fused = 16 * BATCH + hidden + 16 * BATCH
    forward_only = 16 * BATCH + 16 * BATCH
    rows = [
        ("a kernel for each layer: write each layer, read it again", layer_by_layer),
        ("fused, hidden layers stored for the backward pass", fused),
        ("fused, only to paint: hidden layers never leave the chip", forward_only),
    ]
    x = 380
    draw.text(
        (x, top - 38), f"activations in global memory, batch of {BATCH:,}", INK, font(16), "la"
    )
    for number, (words, count) in enumerate(rows):
        y = top + number * 44 - 8
        length = round(count / layer_by_layer * 330)
        draw.rectangle((x, y, x + length, y + 16), GRID if number == 0 else GREEN)
        draw.text((x + length + 10, y + 8), f"{4 * count / 1e6:.1f} MB", INK, font(14), "lm")
        draw.text((x, y + 20), words, MUTED, font(13), "la")


if __name__ == "__main__":
    main()
