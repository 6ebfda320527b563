"""Learn a picture with waves alone: `python -m lessons.13_siren`; --help lists the options."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import math
from argparse import ArgumentParser
from typing import NamedTuple

import numpy as np

from kernels.config import falling_factor
from kernels.files.atomic import write_atomically
from kernels.files.pictures import evenly_chosen, panels
from kernels.files.psnr import psnr, psnr_label
from kernels.plumbing.errors import InputError
from kernels.siren.network import LEARNING_RATE, OMEGA, Siren, Stages
from lessons.capstones.baseline import bilinear_of_numbers
from lessons.capstones.command import (
    Command,
    add_image_and_limit,
    path,
    picture_to_learn,
    whole_number,
)
from lessons.capstones.run import Run

from .weights_file import require_place, weights_text

LOG_EVERY = 20
EARLY_STEPS, EARLY_WIDTH = (1, 10, 50, 100), 240  # small pictures, only to be looked at
STEPS, FUSED_STEPS = 2000, 20_000  # three minutes of one core; a second of a large GPU
SHOWN = 5  # pictures of the training, beside the target


def add_options(parser: ArgumentParser) -> None:
    add_image_and_limit(parser)
    add = parser.add_argument
    # fmt: off
    add("--batch", type=whole_number(1, 65_536), default=1024, metavar="N",
        help="random pixels per step (default: 1,024)")
    add("--eval-every", type=whole_number(1, 10**9), default=250, metavar="N",
        help="steps from one look at the whole picture to the next; the best one is kept "
        "(default: 250)")
    add("--omega", type=float, default=OMEGA, metavar="FACTOR",
        help="what multiplies the angles of all layers but the first, which has 30 (default: 1)")
    add("--rate", choices=("falling", "constant"), default="falling", metavar="HOW",
        help="falling: Adam's learning rate goes to zero in the second half of the run; constant: "
        "it does not (default: falling)")
    add("--weights", type=path, metavar="FILE",
        help="write the best network to this file as JSON, which read_weights.py evaluates "
        "(default: write none)")
    # fmt: on


def work(run: Run) -> str:
    options = run.options
    if not 0.01 <= options.omega <= 1000:
        raise InputError(f"--omega must lie between 0.01 and 1,000, not {options.omega}; try 30")
    if options.weights:
        require_place(options.weights, options.overwrite)
    image = picture_to_learn(options.image, options.limit)
    stages, device = run.stages.fill(Stages()), run.device
    run.say(f"a network of sines, with the kernels of {run.author}, on {device.description}")

    if options.steps is None:
        options.steps = FUSED_STEPS if run.fused else STEPS

    def new() -> Siren:
        given = image, options.seed, options.batch, device, options.omega
        if not run.fused:
            return Siren(*given, stages)
        from kernels.siren.fused import FusedSiren  # a handout lacks it

        return FusedSiren(*given)

    def ready() -> Siren:
        new().train(1)
        device.synchronize()
        return new()

    files = "prediction.png", "ground_truth.png", "contact_sheet.png", "training.gif"
    with run.writing(*files, inputs=[options.image]):
        siren = run.patiently("compiling", ready)
        grid, baseline, enlarged = bilinear_of_numbers(image, siren.parameters.size, device)
        best = train(run, siren, image)
        run.save_picture("prediction.png", best.picture)
        run.save_picture("ground_truth.png", image)
        save_overview(run, image)
        if options.weights:
            text = weights_text(best.parameters, siren.shapes, options.omega, best.picture)
            write_atomically(options.weights, lambda file: file.write(text.encode()), True)
        if best.step != run.step:
            run.show(best.step, best.picture, best.psnr)
        run.finish(
            {
                "image": options.image.name,
                "width": image.shape[1],
                "height": image.shape[0],
                "batch": options.batch,
                "omega": options.omega,
                "rate": options.rate,
                "launches": siren.step_work.how,
                "fused": run.fused,
                "parameters": siren.parameters.size,
                "psnr_db": best.psnr,
                "best_step": best.step,
                "baseline_psnr_db": baseline,
                "baseline_grid": grid,
                "baseline_passed_at_step": step_above(run, baseline),
            },
            baseline=baseline,
            shown={f"bilinear grid of {grid}": enlarged, "original": image},
        )
    against = f"; a bilinear grid of {grid}, as many numbers, has {psnr_label(baseline)}"
    took = f"{run.step:,} steps in {run.seconds:.1f} s"
    verdict = f"{took}: PSNR {psnr_label(best.psnr)} at step {best.step:,}"
    passed = step_above(run, baseline)
    against += f", passed at step {passed:,}" if passed else ", not passed"
    return verdict + (against if math.isfinite(baseline) else "")


def step_above(run: Run, baseline: float) -> int | None:
    """The first step at which the whole picture was better than the baseline, in dB."""
    seen = ((step, row.get("psnr_db", -math.inf)) for step, row in sorted(run.history.items()))
    return next((step for step, decibels in seen if decibels > baseline), None)


class Evaluation(NamedTuple):
    """The whole picture at one step, its PSNR in dB, and the parameters that paint it."""

    step: int
    psnr: float
    picture: np.ndarray
    parameters: np.ndarray


def train(run: Run, siren: Siren, image: np.ndarray) -> Evaluation:
    """Train to the end, or until interrupted; returns the best that was seen."""
    options = run.options
    height, width, _ = image.shape
    best = None
    for step in run.steps():
        siren.train(step, learning_rate(step, options.steps, options.rate))
        if step % LOG_EVERY == 0 or step in (1, options.steps):
            run.log(step, loss=finite_loss(siren, step))
        if step % options.eval_every == 0 or step == options.steps:
            best = evaluate(run, siren, image, best)
        elif step in EARLY_STEPS:
            with run.aside():
                small = siren.paint(EARLY_WIDTH, max(1, round(EARLY_WIDTH * height / width)))
                run.show(step, small)
    if best is None or run.frames[-1].step != run.step:  # it was interrupted
        best = evaluate(run, siren, image, best)
    return best


def evaluate(run: Run, siren: Siren, image: np.ndarray, best: Evaluation | None) -> Evaluation:
    """Paint the whole picture; returns the better of this and the best before."""
    step = siren.step
    with run.aside():
        picture = siren.paint(image.shape[1], image.shape[0])
        parameters = siren.device.to_host(siren.parameters)
        found = Evaluation(step, psnr(picture, image), picture, parameters)
        run.show(step, picture, found.psnr)
    run.log(step, psnr_db=found.psnr)
    return found if best is None or found.psnr > best.psnr else best


def finite_loss(siren: Siren, step: int) -> float:
    loss = siren.loss()
    if not math.isfinite(loss):
        raise InputError(f"the loss is {loss} at step {step:,}: try a smaller --omega")
    return loss


def learning_rate(step: int, steps: int, how: str) -> float:
    """how: "constant" or "falling", see `falling_factor`."""
    return LEARNING_RATE * (falling_factor(step, steps) if how == "falling" else 1.0)


def save_overview(run: Run, image: np.ndarray) -> None:
    steps, decibels, pictures = zip(*run.frames, strict=True)
    run.save_animation("training.gif", pictures, steps, decibels)
    chosen = evenly_chosen(steps, SHOWN)
    shown = [one for one in run.frames if one.step in chosen]
    titles = [f"step {one.step:,}\n{psnr_label(one.value) if one.value else ''}" for one in shown]
    sheet = panels([*(one.picture for one in shown), image], [*titles, "target"], side=320)
    run.save_picture("contact_sheet.png", sheet)


COMMAND = Command(
    "13_siren", "Learn a picture with layers of sines, without a grid.", work, STEPS, add_options,
    has_fused=True, fused_steps=FUSED_STEPS,
)  # fmt: skip

if __name__ == "__main__":
    COMMAND.start()
