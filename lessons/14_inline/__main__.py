"""Learn a whole picture in every step: `python -m lessons.14_inline`; --help lists the options."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import math
from argparse import ArgumentParser, Namespace
from typing import NamedTuple

import numpy as np

from kernels.config import falling_factor
from kernels.files.pictures import panels
from kernels.files.plot import PSNR
from kernels.files.psnr import mean_squared_error, psnr, psnr_label, psnr_of_loss
from kernels.inline.model import (
    LEARNING_RATE,
    Arrays,
    LearningSteps,
    Stages,
    learning_step,
    make_arrays,
    with_parameters,
)
from kernels.inline.sizes import grid_shape
from kernels.plumbing.errors import InputError
from lessons.capstones.baseline import bilinear_of_numbers
from lessons.capstones.command import Command, add_image_and_limit, picture_to_learn
from lessons.capstones.device import Device
from lessons.capstones.run import Run

from .animation import Animation

STEPS = 500  # of the lake: within four minutes on two cores
LARGEST = 4096  # pixels on a side
LOG_EVERY = 20
EARLY = 1, 5, 10, 20, 50  # steps that the animation shows beside its regular ones
FRAMES = 24
FILES = "start.png", "learned.png", "target.png", "panels.png", "training.gif", "training.mp4"
COLOUR_NAMES = "red", "green", "blue"


def add_options(parser: ArgumentParser) -> None:
    add_image_and_limit(parser)
    parser.add_argument(
        "--rate", choices=("falling", "constant"), default="constant", metavar="HOW",
        help="falling: Adam's learning rate, 0.03, goes to zero in the second half of the run; "
        "constant: it does not (default: constant)",
    )  # fmt: skip


def work(run: Run) -> str:
    image = picture_of_a_size(run.options)
    stages = stages_of(run)
    device = run.device
    rows, columns, _ = grid_shape(*image.shape[:2])
    run.say(
        f"{image.shape[1]} x {image.shape[0]} pixels in every step, a grid of {columns} x {rows} "
        f"corners, with the kernels of {run.author}, on {device.description}"
    )
    with run.writing(*FILES, inputs=[run.options.image]):
        arrays = run.patiently("compiling", lambda: ready(run, stages, image))
        as_many, baseline, large = bilinear_of_numbers(image, arrays.parameters.size, device)
        start = paint(stages, arrays, device)
        learner = LearningSteps(stages, arrays, device)
        learned, step, animation = learn(run, learner, image, start)
        reached = psnr(learned, image)
        save_pictures(run, start, learned, image, step)
        animation.save(run)
        if step != run.step:
            run.show(step, np.clip(learned, 0, 1), reached)
        run.finish(
            {
                "image": run.options.image.name,
                "width": image.shape[1],
                "height": image.shape[0],
                "parameters": arrays.parameters.size,
                "psnr_db": reached,
                "best_step": step,
                "rate": run.options.rate,
                "launches": learner.how,
                "fused": stages.learn.__name__ == "launch_learn_by_warps",
                "baseline_psnr_db": baseline,
                "baseline_grid": as_many,
            },
            PSNR._replace(loss="mean squared error of the whole picture"),
            baseline,
            {f"bilinear grid of {as_many}": large, "original": image},
        )
    for sentence in dead_colours(learned, image):
        run.say(sentence)
    verdict = (
        f"PSNR {psnr_label(reached)} after {step:,} of {run.step:,} steps, {run.seconds:.1f} s"
    )
    against = f"; a bilinear grid of {as_many}, as many numbers, has {psnr_label(baseline)}"
    return verdict + (against if math.isfinite(baseline) else "")


def picture_of_a_size(options: Namespace) -> np.ndarray:
    image = picture_to_learn(options.image, options.limit)
    height, width, _ = image.shape
    if max(height, width) > LARGEST:
        raise InputError(
            f"{options.image} has {width} x {height} pixels, and all take part in every step: "
            f"there may be {LARGEST:,} on a side; --limit 512 makes it smaller"
        )
    return image


def stages_of(run: Run) -> Stages:
    """What starts the kernels: ours, or the student's; Adam is lesson 8's."""
    stages = run.stages.fill(Stages())
    stages = stages._replace(adam=run.stages("8", ["launch_adam_weights"]).launch_adam_weights)
    if run.fused:
        from kernels.inline import fused  # a handout lacks it

        if fused.fits():
            return stages._replace(learn=fused.launch_learn_by_warps)
        run.say("the fused kernel is for GPUs of compute capability 9.0: here the other runs")
    return stages


def ready(run: Run, stages: Stages, image: np.ndarray) -> Arrays:
    """The arrays before the first step, when everything is compiled."""
    device, seed = run.device, run.options.seed
    rehearsal = make_arrays(image[:1, :1].copy(), seed, device.to_device)
    learning_step(stages, rehearsal, 1, device.launch)
    LearningSteps(stages, rehearsal, device).train(1)
    paint(stages, rehearsal, device)
    return make_arrays(image, seed, device.to_device)


def paint(stages: Stages, arrays: Arrays, device: Device) -> np.ndarray:
    """The picture as it is now, (H, W, 3) float32; a colour may be above 1."""
    picture = device.empty(arrays.image.shape)
    stages.paint(arrays.grid, arrays.weights, picture, launch=device.launch)
    return device.to_host(picture)


class Best(NamedTuple):
    """The best that was seen: after how many steps, its loss, and the parameters, on the host."""

    step: int
    loss: float
    parameters: np.ndarray


def learn(
    run: Run, learner: LearningSteps, image: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, int, Animation]:
    """Learn to the end, or until interrupted.

    Returns the best picture that was seen, after how many steps that was, and an animation.
    """
    stages, arrays, device = learner.stages, learner.arrays, learner.device
    steps = run.options.steps
    animation = Animation(image)

    def keep(step: int, picture: np.ndarray) -> None:
        animation.add(step, picture)
        run.show(step, np.clip(picture, 0, 1), animation.psnr[-1])

    keep(0, start)
    shown = {*EARLY, *np.linspace(0, steps, FRAMES, dtype=int)[1:].tolist()}
    best = Best(0, math.inf, device.to_host(arrays.parameters))
    for step in run.steps():
        rate = learning_rate(step, steps, run.options.rate)
        if step % LOG_EVERY == 0 or step in (1, steps):
            before = device.to_host(arrays.parameters)
            looked_at = arrays._replace(loss_sum=device.to_device(np.zeros(1, np.float32)))
            learning_step(stages, looked_at, step, device.launch, rate)
            loss = float(device.to_host(looked_at.loss_sum)[0])
            run.log(step, loss=loss, psnr_db=psnr_of_loss(loss))
            if loss < best.loss:
                best = Best(step - 1, loss, before)
        else:
            learner.train(step, rate)
        if step in shown:
            with run.aside():
                keep(step, paint(stages, arrays, device))
    last = paint(stages, arrays, device)
    if animation.steps[-1] != run.step:  # it was interrupted
        keep(run.step, last)
    if mean_squared_error(last, image) <= best.loss:
        return last, run.step, animation
    arrays = with_parameters(arrays, device.to_device(best.parameters))
    return paint(stages, arrays, device), best.step, animation


def learning_rate(step: int, steps: int, how: str) -> float:
    """how: "constant" or "falling", see `falling_factor`."""
    return LEARNING_RATE * (falling_factor(step, steps) if how == "falling" else 1.0)


def save_pictures(
    run: Run, start: np.ndarray, learned: np.ndarray, image: np.ndarray, step: int
) -> None:
    pictures = np.clip(start, 0, 1), np.clip(learned, 0, 1), image
    for name, picture in zip(FILES, pictures, strict=False):
        run.save_picture(name, picture)
    titles = [
        f"start\n{psnr_label(psnr(start, image))}",
        f"learned in {run.seconds:.1f} s\n{psnr_label(psnr(learned, image))}, step {step:,}",
        f"target\n{image.shape[1]} x {image.shape[0]}",
    ]
    run.save_picture("panels.png", panels(pictures, titles))


def dead_colours(learned: np.ndarray, image: np.ndarray) -> list[str]:
    """A sentence for each colour that is zero everywhere, though not in the picture."""
    return [
        f"{name} is 0 in every pixel: the ReLU behind the last layer has died there, and passes no "
        "gradient. Try another --seed"
        for number, name in enumerate(COLOUR_NAMES)
        if not learned[:, :, number].any() and image[:, :, number].any()
    ]


COMMAND = Command(
    "14_inline",
    "Learn all pixels of a picture in every step.",
    work,
    STEPS,
    add_options,
    has_fused=True,
)

if __name__ == "__main__":
    COMMAND.start()
