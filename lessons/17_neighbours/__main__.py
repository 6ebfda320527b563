"""Filter a picture, then learn filters that read digits: `python -m lessons.17_neighbours`."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import math
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial

import numpy as np

from kernels.classifier.digits import labelled_digits
from kernels.files.pictures import enlarged
from kernels.files.style import INK, MUTED, font, paper
from kernels.neighbours import learner as layers
from lessons.capstones.command import Command, add_image_and_limit, picture_to_learn, whole_number
from lessons.capstones.device import Device
from lessons.capstones.learner import ACCURACY, Functions, Learner, Part
from lessons.capstones.run import Run

RATE = 0.1  # for the mean of a mini-batch's gradients
BATCH, CLASSES = 32, 10
MOST_EPOCHS = 1000
FILES = "blurred.png", "sharpened.png", "edges.png", "filters.png"
# One filter for each of these pictures; a number below zero, or above one, is cut off.
BLUR = np.outer([1, 2, 1], [1, 2, 1]) / 16
ROUND = np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]])
CENTRE = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
BY_HAND = {"blurred": BLUR, "sharpened": CENTRE + ROUND / 4, "edges": ROUND}
SEEN = 6  # digits in filters.png
TILE, STEP, LEFT, TOP = 84, 94, 36, 64  # its pixels
USUAL = {"segments": (6, 1000), "digits": (40, 360)}  # epochs, images held out


def add_options(parser: ArgumentParser) -> None:
    add_image_and_limit(parser)
    epochs = ", ".join(f"{name} {one}" for name, (one, _) in USUAL.items())
    parser.add_argument(
        "--data", default="segments", choices=list(USUAL),
        help="which digits are read: segments, which are drawn here, or digits, handwritten ones "
        "of the package scikit-learn (default: segments)",
    )  # fmt: skip
    parser.add_argument(
        "--epochs", dest="steps", type=whole_number(1, MOST_EPOCHS), metavar="N",
        help=f"how often each training image is seen (default: that of the data; {epochs})",
    )  # fmt: skip


def new_learner(run: Run, images: np.ndarray, labels: np.ndarray) -> Learner:
    stages, pixels = run.stages.fill(layers.Stages()), images.shape[1]
    if run.on_tensor_cores:
        from kernels.neighbours import tensor_cores  # a handout lacks it

        stages = tensor_cores.on_tensor_cores(stages)
    shapes = layers.shapes_of(pixels, CLASSES)
    parameters = layers.initial_parameters(shapes, run.options.seed)
    network = layers.new_network(parameters, shapes, pixels, BATCH, run.device.to_device)
    train, classify = partial(layers.train_epoch, stages), partial(layers.classify, stages)
    functions = Functions(train, classify, layers.first_images)
    return Learner(run.device, functions, network, BATCH, RATE, images, labels)


def work(run: Run) -> str:
    options = run.options
    epochs, held_out = USUAL[options.data]
    options.steps = options.steps or epochs
    image = picture_to_learn(options.image, options.limit)
    images, labels = labelled_digits(options.data, options.seed)
    images = images.reshape(len(images), math.isqrt(images.shape[1]), -1, 1)
    first = len(labels) - held_out
    run.say(
        f"{first:,} {options.data} to train with, {held_out:,} held out; with the "
        f"kernels of {run.author}, on {run.device.description}"
    )
    with run.writing(*FILES, inputs=[options.image]):
        convolve = run.stages("17", ["launch_convolve_tiled"]).launch_convolve_tiled
        by_hand = run.patiently(
            "filtering the picture", lambda: filtered(image, convolve, run.device)
        )
        for name, picture in by_hand.items():
            run.save_picture(f"{name}.png", picture)
        learner = new_learner(run, images[:first], labels[:first])
        part = learner.part(images[first:], labels[first:])
        run.patiently("compiling", learner.compile)
        untrained = draw_filters(learner, part)
        steps_per_epoch = math.ceil(first / BATCH)
        for epoch in run.steps(unit="epoch"):
            learner.epoch()
            with run.aside():
                loss, reached = learner.loss(), learner.accuracy(part)
                drawn = draw_filters(learner, part)
                run.show(epoch * steps_per_epoch, drawn, reached)
            run.log(epoch * steps_per_epoch, loss=loss, held_out=reached)
        run.save_picture("filters.png", drawn)
        run.finish(
            {
                "image": options.image.name,
                "data": options.data,
                "training_images": first,
                "held_out_images": held_out,
                "parameters": int(learner.network.parameters.shape[0]),
                "batch": BATCH,
                "epochs": run.step,
                "us_per_step": run.seconds / (run.step * steps_per_epoch) * 1e6,
                "launches": learner.epoch.how,
                "fused": run.on_tensor_cores,
                "held_out_accuracy": reached / 100,
            },
            ACCURACY,
            shown={"before the first epoch": untrained},
            more={f"The picture, {name}": picture for name, picture in by_hand.items()},
        )
    return (
        f"held out: {reached:.2f} % of {held_out:,} right, with "
        f"{learner.network.parameters.shape[0]:,} parameters; {run.step} epochs in "
        f"{run.seconds:.1f} s"
    )


def filtered(
    image: np.ndarray, launch_convolve: Callable[..., None], device: Device
) -> dict[str, np.ndarray]:
    """The picture through the filters of `BY_HAND`: (H, W, 3) each, in [0, 1]."""
    # Three images of one channel: so each filter sees one colour.
    colours = np.ascontiguousarray(image.transpose(2, 0, 1)[..., np.newaxis], np.float32)
    filters = np.stack([*BY_HAND.values()], axis=-1)[:, :, np.newaxis].astype(np.float32)
    out = device.empty((*colours.shape[:3], len(BY_HAND)))
    bias = device.to_device(np.zeros(len(BY_HAND), np.float32))
    launch_convolve(
        device.to_device(colours), device.to_device(filters), bias, out, launch=device.launch
    )
    pictures = np.clip(device.to_host(out), 0, 1).transpose(3, 1, 2, 0)
    return {name: np.ascontiguousarray(one) for name, one in zip(BY_HAND, pictures, strict=True)}


def draw_filters(learner: Learner, part: Part) -> np.ndarray:
    """One column per filter: its weights, and below what it sees in a part's first images."""
    few, layer, to_host = part.rows(0, SEEN), learner.network.layers[0], learner.device.to_host
    answers, images = learner.probabilities(few).argmax(axis=1), to_host(few.images)
    filters, pooled = to_host(layer.filters)[:, :, 0], to_host(layer.pooled[:SEEN])
    weights = 0.5 + filters / np.abs(filters).max() / 2
    seen = pooled / (pooled.max(axis=(0, 1, 2)) + 1e-9)
    number = pooled.shape[3]
    sheet, draw = paper(LEFT + (number + 1) * STEP, TOP + (len(images) + 1) * STEP)
    draw.text((10, 8), "what the filters of the first layer see", INK, font(20), "la")
    words = "top: the weights, white the largest; left: what the network takes a digit for"
    draw.text((10, 36), words, MUTED, font(14), "la")
    for f in range(number):
        sheet.paste(enlarged(weights[..., f], TILE), (LEFT + (f + 1) * STEP, TOP))
    for row, answer in enumerate(answers):
        y = TOP + (row + 1) * STEP
        draw.text((10, y + TILE // 2), str(answer), INK, font(20), "lm")
        sheet.paste(enlarged(images[row, ..., 0], TILE), (LEFT, y))
        for f in range(number):
            sheet.paste(enlarged(seen[row, ..., f], TILE), (LEFT + (f + 1) * STEP, y))
    return np.asarray(sheet)


COMMAND = Command(
    "17_neighbours", "Filter a picture, then learn filters that read digits.", work, None,
    add_options, has_fused=True,
)  # fmt: skip

if __name__ == "__main__":
    COMMAND.start()
