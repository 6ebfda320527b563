"""Blur, sharpen and outline a picture; then learn filters that read digits.

python -m lessons.17_neighbours
"""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import math
from argparse import ArgumentParser
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from kernels.classifier.digits import draw_digits
from kernels.files.plot import Measure
from kernels.files.style import INK, MUTED, PAPER, font
from kernels.neighbours.learner import (
    Stages,
    classify,
    first_images,
    initial_parameters,
    new_network,
    shapes_of,
    train_epoch,
)
from kernels.plumbing.errors import InputError
from lessons.capstones.command import Command, whole_number
from lessons.capstones.device import Device, DeviceArray
from lessons.capstones.run import Run
from lessons.capstones.small_picture import add_image_and_limit, picture_to_learn

RATE = 0.1  # for the mean of a mini-batch's gradients; divided by its size for their sum
BATCH, CLASSES = 32, 10
MOST_EPOCHS = 1000
DRAWN, SEGMENT_SIDE = 5000, 16
FILES = "blurred.png", "sharpened.png", "edges.png", "filters.png"
# One filter for each of these pictures; a number below zero, or above one, is cut off.
BLUR = np.outer([1, 2, 1], [1, 2, 1]) / 16
ROUND = np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]])
CENTRE = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
BY_HAND = {"blurred": BLUR, "sharpened": CENTRE + ROUND / 4, "edges": ROUND}
SEEN = 6  # digits in filters.png
TILE, STEP, LEFT, TOP = 84, 94, 36, 64  # its pixels


USUAL = {"segments": (6, 1000), "digits": (40, 360)}  # epochs, images held out


class Part(NamedTuple):
    """images (n, S, S, 1) float32 in [0, 1], labels (n,) int32, losses (n,) float32."""

    images: DeviceArray
    labels: DeviceArray
    losses: DeviceArray


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


class Trainer:
    """A network in training, and the images that it is trained and examined with."""

    def __init__(self, run: Run, images: np.ndarray, labels: np.ndarray, held_out: int) -> None:
        self.stages, self.device = stages_of(run), run.device
        pixels, first = images.shape[1], len(labels) - held_out
        self.training = self.on_device(images[:first], labels[:first])
        self.held_out = self.on_device(images[first:], labels[first:])
        self.labels = labels[first:]
        shapes = shapes_of(pixels, CLASSES)
        parameters = initial_parameters(shapes, run.options.seed)
        self.network = new_network(parameters, shapes, pixels, BATCH, self.device.to_device)
        self.epoch = self.device.repeated(
            lambda launch: self.train(self.training, RATE / BATCH, launch),
            (self.network.parameters, self.training.losses),
        )

    def on_device(self, images: np.ndarray, labels: np.ndarray) -> Part:
        to_device = self.device.to_device
        return Part(to_device(images), to_device(labels), self.device.empty(labels.shape))

    def compile(self) -> None:
        """Run every kernel once, with a rate of 0."""
        self.train(Part(*(array[:BATCH] for array in self.training)), 0.0, self.device.launch)

    def train(self, part: Part, rate: float, launch: Callable[..., None]) -> None:
        train_epoch(self.stages, *part, self.network, BATCH, rate, launch)

    def accuracy(self) -> float:
        """Of the held-out images, in percent."""
        right = 0
        for first in range(0, len(self.labels), BATCH):
            part = Part(*(array[first : first + BATCH] for array in self.held_out))
            right += int(np.sum(self.answers(part) == self.labels[first : first + BATCH]))
        return 100 * right / len(self.labels)

    def answers(self, part: Part) -> np.ndarray:
        """The digit that the network sees in each of up to BATCH images."""
        network = first_images(self.network, part.labels.shape[0])
        classify(self.stages, *part, network, self.device.launch)
        return self.device.to_host(network.probabilities).argmax(axis=1)

    def drawn_filters(self) -> np.ndarray:
        """The first layer's filters, and what they see in the first held-out images."""
        part = Part(*(array[:SEEN] for array in self.held_out))
        answers, layer = self.answers(part), self.network.layers[0]
        filters, pooled = (self.device.to_host(a) for a in (layer.filters, layer.pooled[:SEEN]))
        return draw_filters(filters[:, :, 0], self.device.to_host(part.images), pooled, answers)


def stages_of(run: Run) -> Stages:
    stages = run.stages.fill(Stages())
    if run.on_tensor_cores:
        from kernels.neighbours import tensor_cores  # a handout lacks it

        return tensor_cores.on_tensor_cores(stages)
    return stages


def load(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """images (n, S, S, 1), labels (n,), in an order that the seed decides.

    Raises `InputError` for data whose package is not there.
    """
    if name == "segments":
        images, labels = draw_digits(DRAWN, SEGMENT_SIDE, seed)
        images = images.reshape(-1, SEGMENT_SIDE, SEGMENT_SIDE)
    else:
        try:
            from sklearn.datasets import load_digits
        except ImportError as error:
            raise InputError(
                f"these digits lie in the package scikit-learn, which cannot be imported ({error})"
                ": python -m pip install -r lessons/requirements.txt, or take --data segments"
            ) from None
        digits = load_digits()
        images, labels = digits.images / 16, digits.target
    order = np.random.default_rng(seed).permutation(len(labels))
    return images[order, ..., np.newaxis].astype(np.float32), labels[order].astype(np.int32)


def work(run: Run) -> str:
    options = run.options
    epochs, held_out = USUAL[options.data]
    options.steps = options.steps or epochs
    image = picture_to_learn(options.image, options.limit)
    images, labels = load(options.data, options.seed)
    first = len(labels) - held_out
    run.say(
        f"{first:,} {options.data} to train with, {held_out:,} held out; with the "
        f"kernels of {run.author}, on {run.device.description}"
    )
    with run.writing(*FILES, inputs=[options.image]):
        by_hand = run.patiently("filtering the picture", lambda: filtered(run, image))
        for name, picture in by_hand.items():
            run.save_picture(f"{name}.png", picture)
        trainer = Trainer(run, images, labels, held_out)
        run.patiently("compiling", trainer.compile)
        untrained = trainer.drawn_filters()
        steps_per_epoch = math.ceil(first / BATCH)
        for epoch in run.steps(unit="epoch"):
            trainer.epoch()
            with run.aside():
                loss = float(run.device.to_host(trainer.training.losses).mean())
                reached = trainer.accuracy()
                drawn = trainer.drawn_filters()
                run.show(epoch * steps_per_epoch, drawn, reached)
            run.log(epoch * steps_per_epoch, loss=loss, held_out=reached)
        run.save_picture("filters.png", drawn)
        run.finish(
            {
                "image": options.image.name,
                "data": options.data,
                "training_images": first,
                "held_out_images": held_out,
                "parameters": int(trainer.network.parameters.shape[0]),
                "batch": BATCH,
                "epochs": run.step,
                "us_per_step": run.seconds / (run.step * steps_per_epoch) * 1e6,
                "launches": trainer.epoch.how,
                "fused": run.on_tensor_cores,
                "held_out_accuracy": reached / 100,
            },
            Measure(
                "accuracy", "of held-out images, in %", "{:.1f} %",
                loss="cross entropy of the training images, in each epoch",
            ),
            shown={"before the first epoch": untrained},
            more={f"The picture, {name}": picture for name, picture in by_hand.items()},
        )  # fmt: skip
    return (
        f"held out: {reached:.2f} % of {held_out:,} right, with "
        f"{trainer.network.parameters.shape[0]:,} parameters; {run.step} epochs in "
        f"{run.seconds:.1f} s"
    )


def filtered(run: Run, image: np.ndarray) -> dict[str, np.ndarray]:
    """The picture through the filters of `BY_HAND`: (H, W, 3) each, in [0, 1]."""
    device: Device = run.device
    launch_convolve = run.stages("17", ["launch_convolve_tiled"]).launch_convolve_tiled
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


def draw_filters(
    filters: np.ndarray, images: np.ndarray, pooled: np.ndarray, answers: np.ndarray
) -> np.ndarray:
    """One column per filter: its weights, and below what it sees in each image, pooled.

    filters (3, 3, F); images (n, S, S, 1); pooled (n, S // 2, S // 2, F); answers (n,).
    """
    weights = 0.5 + filters / np.abs(filters).max() / 2
    seen = pooled / (pooled.max(axis=(0, 1, 2)) + 1e-9)
    count, number = pooled.shape[0], pooled.shape[3]
    size = LEFT + (number + 1) * STEP, TOP + (count + 1) * STEP
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((10, 8), "what the filters of the first layer see", INK, font(20), "la")
    words = "top: the weights, white the largest; left: what the network takes a digit for"
    draw.text((10, 36), words, MUTED, font(14), "la")
    for f in range(number):
        sheet.paste(gray(weights[..., f]), (LEFT + (f + 1) * STEP, TOP))
    for row, answer in enumerate(answers):
        y = TOP + (row + 1) * STEP
        draw.text((10, y + TILE // 2), str(answer), INK, font(20), "lm")
        sheet.paste(gray(images[row, ..., 0]), (LEFT, y))
        for f in range(number):
            sheet.paste(gray(seen[row, ..., f]), (LEFT + (f + 1) * STEP, y))
    return np.asarray(sheet)


def gray(numbers: np.ndarray) -> Image.Image:
    levels = np.round(np.clip(numbers, 0, 1) * 255).astype(np.uint8)
    return Image.fromarray(levels).resize((TILE, TILE), Image.Resampling.NEAREST).convert("RGB")


COMMAND = Command(
    "17_neighbours", "Filter a picture, then learn filters that read digits.", work, None,
    add_options, has_fused=True,
)  # fmt: skip

if __name__ == "__main__":
    COMMAND.start()
