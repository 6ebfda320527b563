"""Draw this lesson's picture: mini-batches as slices of one buffer, and one image's softmax.

python -m lessons.16_classifier.picture
"""

from pathlib import Path

import numpy as np

from kernels.classifier.digits import CLASSES, draw_digits
from kernels.classifier.network import initial_parameters, new_network
from kernels.classifier.training import classify, train_epoch
from kernels.files.pictures import enlarged, save_in_256_colours
from kernels.files.style import GRID, INK, MUTED, font, paper
from lessons.lab.compiled.engine import launch

from .drawing import RIGHT, WRONG

HERE = Path(__file__).parent
WIDTH, HEIGHT, LEFT, TOP = 1180, 560, 30, 84
SIDE, HIDDEN, BATCH, TRAINING, EPOCHS = 16, 64, 100, 2000, 12
DRAWN, COLUMNS, BATCH_DRAWN, CELL = 42, 7, 14, 44
SLICES = (RIGHT, (0, 140, 100), (204, 121, 167))
TABLE, ROW = 520, 34
# What stands in each column of the table, and how far from its left edge.
HEADS = {"class": 0, "z": 75, "z - largest": 155, "exp": 265, "y": 365, "t": 480, "delta": 530}


def main():
    images, labels = draw_digits(TRAINING + 500, SIDE, 1)
    probabilities, z = trained_on(images, labels)
    which = an_unsure_one(probabilities[TRAINING:], labels[TRAINING:]) + TRAINING
    sheet, draw = paper(WIDTH, HEIGHT)
    draw_slices(sheet, draw, images)
    draw_head(sheet, draw, images[which].reshape(SIDE, SIDE), labels[which])
    draw_table(draw, z[which], labels[which])
    save_in_256_colours(sheet, HERE / "picture.png")


def trained_on(images, labels):
    """(probabilities, z) of all images, of a network that has seen the first of them."""
    parameters = initial_parameters(SIDE * SIDE, HIDDEN, CLASSES, 1)
    network = new_network(parameters, HIDDEN, CLASSES, BATCH)
    losses = np.empty(len(images), np.float32)
    part = images[:TRAINING], labels[:TRAINING], losses[:TRAINING]
    for _ in range(EPOCHS):
        train_epoch(*part, network, BATCH, 0.5 / BATCH, launch)
    everything = new_network(network.parameters, HIDDEN, CLASSES, len(images))
    classify(images, labels, losses, everything, launch)
    bias = network.parameters[-CLASSES:]
    return everything.probabilities, everything.logits + bias


def an_unsure_one(probabilities, labels):
    """The image whose label is likeliest with a probability nearest to 3/5."""
    of_label = probabilities[np.arange(len(labels)), labels]
    first = probabilities.argmax(axis=1) == labels
    return int(np.argmin(np.where(first, np.abs(of_label - 0.6), 1)))


# ---------------------------------------------------------------- slices


def draw_slices(sheet, draw, images):
    draw.text((LEFT, 12), "a mini-batch is a slice", INK, font(20), "la")
    draw.text((LEFT, 38), "of images that stay where they are", MUTED, font(14), "la")
    for number in range(DRAWN):
        row, column = divmod(number, COLUMNS)
        place = LEFT + 12 + column * CELL, TOP + row * (CELL + 12)
        sheet.paste(enlarged(images[number].reshape(SIDE, SIDE), CELL - 4), place)
    rows = BATCH_DRAWN // COLUMNS
    for step, colour in enumerate(SLICES):
        top = TOP + step * rows * (CELL + 12)
        bottom = top + rows * (CELL + 12) - 16
        draw.rectangle((LEFT, top, LEFT + 4, bottom), colour)
        first = step * BATCH_DRAWN
        words = f"step {step + 1}\nimages\n[{first}:{first + BATCH_DRAWN}]"
        x = LEFT + 20 + COLUMNS * CELL
        draw.multiline_text((x, (top + bottom) / 2), words, colour, font(14), "lm")
    words = "labels and losses are sliced alike"
    draw.text((LEFT, TOP + 6 * (CELL + 12) + 8), words, MUTED, font(14), "la")


# ---------------------------------------------------------------- softmax


def draw_head(sheet, draw, image, label):
    draw.text((TABLE, 12), "softmax, loss and slope of one image", INK, font(20), "la")
    words = f"a doubtful {label}: one block of threads, one row of the arrays"
    draw.text((TABLE, 38), words, MUTED, font(14), "la")
    sheet.paste(enlarged(image, 84), (WIDTH - 114, 12))


def draw_table(draw, z, label):
    largest = z.max()
    exponentials = np.exp(z - largest)
    y = exponentials / exponentials.sum()
    delta = y - (np.arange(CLASSES) == label)
    for head, x in HEADS.items():
        draw.text((TABLE + x, TOP + 34), head, MUTED, font(14), "ls")
    for number in range(CLASSES):
        top = TOP + 46 + number * ROW
        draw.line((TABLE, top - 4, WIDTH - 30, top - 4), GRID, 1)
        middle = top + ROW / 2 - 4
        one = number == label
        write(draw, "class", middle, f"{number}")
        write(draw, "z", middle, f"{z[number]:.2f}")
        write(draw, "z - largest", middle, f"{z[number] - largest:.2f}")
        write(draw, "exp", middle, f"{exponentials[number]:.4f}")
        bar(draw, "y", middle, y[number], 50.0, RIGHT)
        write(draw, "y", middle, f"{y[number]:.3f}")
        write(draw, "t", middle, "1" if one else "0")
        bar(draw, "delta", middle, delta[number], 45.0, WRONG if delta[number] > 0 else RIGHT)
        write(draw, "delta", middle, f"{delta[number]:+.3f}")
    sums = TOP + 46 + CLASSES * ROW + 10
    draw.line((TABLE, sums - 14, WIDTH - 30, sums - 14), MUTED, 1)
    write(draw, "class", sums, "sum")
    write(draw, "exp", sums, f"{exponentials.sum():.4f}")
    write(draw, "y", sums, f"{y.sum():.3f}")
    write(draw, "t", sums, "1")
    write(draw, "delta", sums, f"{delta.sum():+.3f}".replace("-0.000", "+0.000"))
    words = f"loss: log({exponentials.sum():.4f}) - (z - largest) = {-np.log(y[label]):.3f}"
    draw.text((TABLE, HEIGHT - 60), words, INK, font(15), "la")
    words = "delta is what goes back: less of the orange, more of the blue"
    draw.text((TABLE, HEIGHT - 36), words, MUTED, font(14), "la")


def write(draw, head, y, text):
    draw.text((TABLE + HEADS[head], y), text, INK, font(14), "lm")


def bar(draw, head, y, value, scale, colour):
    """Beside the number, to the right; its length says how large it is."""
    x = TABLE + HEADS[head] + 50
    length = abs(float(value)) * scale
    if length >= 0.5:
        draw.rectangle((x, y - 6, x + length, y + 6), colour)


if __name__ == "__main__":
    main()
