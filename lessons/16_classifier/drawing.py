"""The pictures of a run: which class is taken for which, the wrong ones, what the units look at."""

import numpy as np
from PIL import Image

from kernels.files import plot
from kernels.files.pictures import enlarged
from kernels.files.style import GRID, INK, MUTED, PAPER, font, paper

RIGHT, WRONG = (0, 114, 178), (213, 94, 0)
CELL, MARGIN, TOP = 54, 92, 96
TILE, GAP, COLUMNS, ROWS = 84, 16, 10, 4
WORDS = 40  # pixels for two lines below a picture


class EpochAxis(plot.LinearAxis):
    """Epochs are counted: there is no epoch 1.5 to mark."""

    def ticks(self):
        return [tick for tick in super().ticks() if tick % 1 == 0]


def draw_accuracies(steps, held_out, seen):
    """Two curves over the epochs, in percent: of what it has never seen, and of what it has."""
    steps, held_out, seen = (np.asarray(numbers, float) for numbers in (steps, held_out, seen))
    width = plot.LEFT + plot.PANEL_WIDTH + plot.RIGHT
    sheet = plot.Sheet(width, plot.TOP + plot.PANEL_HEIGHT + plot.BOTTOM)
    axis = plot.LinearAxis(np.concatenate([held_out, seen]))
    panel = plot.Panel(sheet, plot.LEFT, EpochAxis(steps), axis)
    panel.frame("accuracy", "in %: seen in training, and held out", "epoch")
    # The higher curve's label stands a little higher, so that the two can be read.
    panel.curve(steps, seen, MUTED, "")
    panel.curve(steps, held_out, WRONG, "")
    x, gap = panel.x(steps[-1]) + 10, panel.y(held_out[-1]) - panel.y(seen[-1])
    apart = max(0.0, 18 - abs(gap)) / 2 * (1 if gap >= 0 else -1)
    sheet.text(x, panel.y(seen[-1]) - apart, f"seen {seen[-1]:.1f}", MUTED, 15, "lm")
    sheet.text(x, panel.y(held_out[-1]) + apart, f"held out {held_out[-1]:.1f}", WRONG, 15, "lm")
    return sheet.finished()


def confusion(labels, answers, classes):
    """(classes, classes) int: how many of label `row` were taken for `column`."""
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (labels, answers), 1)
    return counts


def draw_confusion(counts, names):
    """A table of the counts: blue where the answer is right, orange where it is not."""
    classes = len(counts)
    width = MARGIN + classes * CELL + 30
    sheet, draw = paper(width, TOP + classes * CELL + 40)
    right, total = int(np.trace(counts)), int(counts.sum())
    draw.text((20, 14), f"held out: {right:,} of {total:,} right", INK, font(20), "la")
    draw.text((20, 42), "row: what it is; column: what the network says", MUTED, font(14), "la")
    of_row = np.maximum(counts.sum(axis=1), 1)
    worst = max(1, (counts - np.diag(np.diag(counts))).max())
    for row in range(classes):
        y = TOP + row * CELL
        draw.text((MARGIN - 10, y + CELL / 2), names[row], INK, font(15), "rm")
        draw.text((MARGIN + (row + 0.5) * CELL, TOP - 8), names[row], INK, font(12), "ms")
        for column in range(classes):
            share = counts[row, column] / (of_row[row] if row == column else worst)
            colour = mix(RIGHT if row == column else WRONG, share)
            x = MARGIN + column * CELL
            draw.rectangle((x, y, x + CELL - 2, y + CELL - 2), colour)
            if counts[row, column]:
                ink = PAPER if share > 0.55 else INK
                text = f"{counts[row, column]:,}"
                draw.text((x + CELL / 2 - 1, y + CELL / 2), text, ink, font(14), "mm")
    return np.asarray(sheet)


def mix(colour, share):
    """From the colour of empty cells to `colour`."""
    return tuple(round(g + (c - g) * share) for c, g in zip(colour, GRID, strict=True))


def draw_wrong(images, labels, probabilities, names):
    """The wrong answers of which the network is surest.

    images: (n, height, width) in [0, 1]; labels: (n,); probabilities: (n, classes).
    """
    answers = probabilities.argmax(axis=1)
    wrong = np.flatnonzero(answers != labels)
    surest = wrong[np.argsort(-probabilities[wrong, answers[wrong]], kind="stable")]
    shown = surest[: COLUMNS * ROWS]
    rows = max(1, -(-len(shown) // COLUMNS))
    size = GAP + COLUMNS * (TILE + GAP), 70 + rows * (TILE + WORDS + GAP)
    sheet, draw = paper(*size)
    title = f"{len(wrong):,} of {len(labels):,} wrong; the surest first"
    draw.text((GAP, 12), title, INK, font(20), "la")
    words = "orange: what the network says, and how sure it is; below: what it is"
    draw.text((GAP, 40), words, MUTED, font(14), "la")
    for place, which in enumerate(shown):
        x = GAP + place % COLUMNS * (TILE + GAP)
        y = 70 + place // COLUMNS * (TILE + WORDS + GAP)
        sheet.paste(enlarged(images[which], TILE), (x, y))
        answer = answers[which]
        says = f"{names[answer]}, {probabilities[which, answer]:.0%}"
        draw.text((x + TILE / 2, y + TILE + 4), says, WRONG, font(13), "ma")
        draw.text((x + TILE / 2, y + TILE + 21), names[labels[which]], INK, font(13), "ma")
    return np.asarray(sheet)


def strength(weights):
    """The weight that is drawn in full colour."""
    return np.percentile(np.abs(weights), 99.5)


def draw_units(weights, shape, strongest=None):
    """What each hidden unit looks at: its weights as a picture, orange for +, blue for -.

    weights: (height * width, units). All units have one scale: what was learned is stronger than
    the noise that a unit began with, and looks so. strongest: in full colour, `strength`.
    """
    strongest = strength(weights) if strongest is None else strongest
    units = weights.shape[1]
    columns = int(np.ceil(np.sqrt(1.6 * units)))
    rows = -(-units // columns)
    side = TILE - 20
    size = GAP + columns * (side + 6) + 10, 60 + rows * (side + 6) + 10
    sheet, draw = paper(*size)
    draw.text((GAP, 12), f"what the {units} hidden units look at", INK, font(20), "la")
    draw.text((GAP, 38), "orange: ink speaks for it; blue: against it", MUTED, font(14), "la")
    for unit in range(units):
        x, y = GAP + unit % columns * (side + 6), 60 + unit // columns * (side + 6)
        picture = signed(weights[:, unit].reshape(shape), strongest)
        sheet.paste(picture.resize((side, side), Image.Resampling.NEAREST), (x, y))
    return np.asarray(sheet)


def signed(numbers, strongest):
    """White for 0, towards orange for positive numbers and towards blue for negative ones."""
    strength = np.clip(numbers / max(strongest, 1e-12), -1, 1)[..., np.newaxis]
    white = np.array(PAPER, float)
    towards = np.where(strength > 0, np.array(WRONG, float), np.array(RIGHT, float))
    return Image.fromarray(np.round(white + (towards - white) * np.abs(strength)).astype(np.uint8))
