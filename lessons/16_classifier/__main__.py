"""Train a classifier, and tell how often it is right about what it has never seen.

python -m lessons.16_classifier --data digits --epochs 50
"""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import math
from argparse import ArgumentParser

import numpy as np

from kernels.classifier.network import (
    first_rows,
    initial_parameters,
    layers_of,
    new_network,
)
from kernels.files.pictures import evenly_chosen
from kernels.plumbing.errors import not_empty
from lessons.capstones.command import Command, whole_number
from lessons.capstones.learner import ACCURACY, Functions, Learner
from lessons.capstones.run import Run

from .data import USUAL, Data, load, usual
from .drawing import confusion, draw_accuracies, draw_confusion, draw_units, draw_wrong, strength

LEARNING_RATE = 0.5  # for the mean of a mini-batch's gradients
SHOWN = 20  # epochs on the page
SEEN = 1000  # of the training images, whose accuracy stands beside that of the held-out ones
MOST_EPOCHS, MOST_HIDDEN, MOST_BATCH = 10_000, 1024, 1 << 16


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    names = ", ".join(USUAL)
    epochs = ", ".join(f"{name} {one.epochs}" for name, one in USUAL.items())
    # fmt: off
    add("--data", default="segments", type=not_empty, metavar="NAME",
        help=f"what to learn: {names}, or a folder with the four idx files of MNIST or "
        "Fashion-MNIST (default: segments, which needs nothing)")
    add("--epochs", dest="steps", type=whole_number(1, MOST_EPOCHS), metavar="N",
        help="how often each training image is seen (default: that of the data; "
        f"{epochs}, a folder 10)")
    add("--hidden", type=whole_number(1, MOST_HIDDEN), metavar="N",
        help="hidden units (default: 64; 128 for mnist and folders)")
    add("--batch", type=whole_number(1, MOST_BATCH), default=256, metavar="N",
        help="images per mini-batch (default: 256)")
    add("--in-order", action="store_true",
        help="hold out the last images, and keep the others in their order; not for a folder "
        "(default: any images, drawn by --seed)")
    # fmt: on


def new_learner(run: Run, data: Data, hidden: int, batch: int) -> tuple[Learner, bool]:
    """A network in training, and whether that is done by kernels that do a whole step."""
    device, classes, inputs = run.device, len(data.names), data.training.images.shape[1]
    stages = run.stages("16", ["train_epoch", "classify"])
    parameters = initial_parameters(inputs, hidden, classes, run.options.seed)
    network = new_network(parameters, hidden, classes, batch, device.to_device)
    functions, fits = Functions(stages.train_epoch, stages.classify, first_rows), False
    if run.fused:
        from kernels.classifier import fused  # a handout lacks it

        fits = fused.fits(inputs, hidden, classes, batch)
        if fits:
            train_epoch = fused.make_train_epoch(network, batch, device.empty)
            functions = functions._replace(train_epoch=train_epoch)
        else:
            run.say(f"the fused kernels are for {fused.LIMITS}: here the others run")
    return Learner(device, functions, network, batch, LEARNING_RATE, *data.training), fits


def weights_of(learner: Learner) -> np.ndarray:
    """The first layer's: (inputs, hidden), on the host."""
    parameters = learner.device.to_host(learner.network.parameters)
    return layers_of(parameters, learner.network).weights_1


def work(run: Run) -> str:
    options = run.options
    standard = usual(options.data)
    options.steps = options.steps or standard.epochs
    hidden, batch = options.hidden or standard.hidden, options.batch
    data = run.patiently(
        f"reading {options.data}", lambda: load(options.data, options.seed, options.in_order)
    )
    training, held_out = data.training, data.held_out
    run.say(
        f"{data.words}: {len(training.labels):,} to train with, {len(held_out.labels):,} held out"
    )
    steps_per_epoch = math.ceil(len(training.labels) / batch)
    with run.writing("accuracy.png", "confusion.png", "wrong.png", "units.png"):
        learner, is_fused = new_learner(run, data, hidden, min(batch, len(training.labels)))
        seen_part = learner.part(training.images[:SEEN], training.labels[:SEEN])
        held_out_part = learner.part(*held_out)
        run.patiently("compiling", learner.compile)
        units = [weights_of(learner)]
        for epoch in run.steps(unit="epoch"):
            learner.epoch()
            loss = learner.loss()
            with run.aside():
                reached, seen = learner.accuracy(held_out_part), learner.accuracy(seen_part)
                units.append(weights_of(learner))
            run.log(epoch * steps_per_epoch, loss=loss, held_out=reached, seen=seen)
        pictures = save_pictures(run, data, learner.probabilities(held_out_part), units[-1])
        untrained = show_units(run, units, data.shape)
        run.finish(
            {
                "data": options.data,
                "in_order": options.in_order,
                "training_images": len(training.labels),
                "held_out_images": len(held_out.labels),
                "hidden": hidden,
                "batch": batch,
                "epochs": run.step,
                "steps": run.step * steps_per_epoch,
                "us_per_step": run.seconds / (run.step * steps_per_epoch) * 1e6,
                "launches": learner.epoch.how,
                "fused": is_fused,
                "loss": loss,
                "held_out_accuracy": reached / 100,
                "seen_accuracy": seen / 100,
            },
            ACCURACY,
            shown={"before the first epoch": untrained},
            more=pictures,
        )
    return (
        f"held out: {reached:.2f} % of {len(held_out.labels):,} right; of what it was trained "
        f"with: {seen:.2f} %; {run.step} epochs in {run.seconds:.1f} s"
    )


def show_units(run: Run, units: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Give the page what the hidden units look at, epoch after epoch; returns how they began."""
    strongest = strength(units[-1])
    rows = list(run.history.items())
    for epoch in evenly_chosen(range(1, len(units)), SHOWN):
        step, row = rows[epoch - 1]
        run.show(step, draw_units(units[epoch], shape, strongest), row["held_out"])
    return draw_units(units[0], shape, strongest)


def save_pictures(
    run: Run, data: Data, said: np.ndarray, weights: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns those that the page shows below, by what they show. said: of what is held out."""
    labels = data.held_out.labels
    counts = confusion(labels, said.argmax(axis=1), len(data.names))
    images = data.held_out.images.reshape(-1, *data.shape)
    rows = list(run.history.items())
    curves = {name: [row[name] for _, row in rows] for name in ("held_out", "seen")}
    run.save_picture("accuracy.png", draw_accuracies([step for step, _ in rows], **curves))
    answers = draw_confusion(counts, data.names)
    wrong = draw_wrong(images, labels, said, data.names)
    run.save_picture("confusion.png", answers)
    run.save_picture("wrong.png", wrong)
    run.save_picture("units.png", draw_units(weights, data.shape))
    return {"What is taken for what": answers, "The surest wrong answers": wrong}


COMMAND = Command(
    "16_classifier", "Train a classifier of small pictures.", work, None, add_options,
    has_fused=True,
)  # fmt: skip

if __name__ == "__main__":
    COMMAND.start()
