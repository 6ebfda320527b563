"""Write a network's backward pass by machine, compare it with those written by hand, train with it.

python -m lessons.15_derivatives                  our derivatives
python -m lessons.15_derivatives --use lessons    yours
"""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import inspect
import math
import shutil
import textwrap
from argparse import ArgumentParser
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernels.derivatives import comparison
from kernels.derivatives.curves import draw_curves
from kernels.derivatives.learner import WrittenSiren
from kernels.derivatives.models import ACTIVATIONS
from kernels.files.images import load_image
from kernels.files.pictures import panels
from kernels.files.plot import PSNR
from kernels.files.psnr import psnr, psnr_label, psnr_of_loss
from kernels.plumbing.errors import InputError
from kernels.siren import layers as siren_by_hand
from lessons.capstones.command import Command, add_image, whole_number
from lessons.capstones.run import Run

FLOAT32 = 1e-5  # of the largest gradient: what float32 sums in another order may differ by
EVERY = 25  # steps between two looks at the loss
SHOWN, SMALL_WIDTH = 10, 240  # small pictures of the training, only to be looked at
FILES = (
    "written_siren.py", "written_lake.py", "written_fused.py", "side_by_side.txt",
    "differences.txt", "derivatives.png", "learned.png", "panels.png",
)  # fmt: skip
CURVES = "sine", "gelu", "sigmoid", "square", "relu"


def add_options(parser: ArgumentParser) -> None:
    add_image(parser)
    parser.add_argument(
        "--layers", type=whole_number(2, 16), default=4, metavar="N",
        help="hidden layers, 2 to 16 (default: 4)",
    )  # fmt: skip
    parser.add_argument(
        "--width", type=whole_number(4, 256), default=48, metavar="N",
        help="how wide they are, 4 to 256 (default: 48)",
    )  # fmt: skip
    parser.add_argument(
        "--batch", type=whole_number(1, 65_536), default=1024, metavar="N",
        help="random pixels per step, 1 to 65,536 (default: 1,024)",
    )  # fmt: skip
    parser.add_argument(
        "--activation", choices=sorted(ACTIVATIONS), default="sine", metavar="NAME",
        help="of the hidden layers: gelu, relu or sine (default: sine)",
    )  # fmt: skip


def work(run: Run) -> str:
    options = run.options
    image = load_image(options.image)
    stages = run.stages("15", ["backward_steps", "wrong_derivatives", "disagrees"])
    with run.writing(*FILES, inputs=[options.image]):
        wrong, curves = examine_derivatives(run, stages)
        # Nothing is written before all is compiled: until then Ctrl-C leaves an older run alone.
        rows, slopes, learner, written_lake = run.patiently(
            "compiling the kernels, those written by hand and by machine",
            lambda: compare(run, stages, image),
        )
        run.save_picture("derivatives.png", curves)
        run.save_text("written_lake.py", written_lake)
        run.save_text("written_siren.py", learner.written.source)
        show_source(run, learner)
        show_differences(run, rows, slopes)
        learner = train(run, stages, image)
        picture = run.patiently("painting", lambda: learner.paint(image.shape[1], image.shape[0]))
        quality = psnr(picture, image)
        run.show(run.step, picture, quality)
        run.save_picture("learned.png", picture)
        title = f"learned in {run.seconds:.1f} s\n{psnr_label(quality)}"
        run.save_picture("panels.png", panels([picture, image], [title, "the picture\n"]))
        worst = max(row.relative for row in rows)
        run.finish(
            {
                "psnr_db": quality,
                "launches": learner.step_work.how,
                "parameters": int(learner.parameters.shape[0]),
                "kernels_written": learner.written.source.count("@cuda.jit"),
                "fused": type(learner) is not WrittenSiren,
                "largest_relative_difference": worst,
                "wrong_derivatives": wrong,
            },
            PSNR._replace(unit="of the random batches, in dB"),
            shown={"original": image},
            more={"The derivatives that were registered, and what they belong to": curves},
        )
    return (
        f"written by machine, {worst:.1e} from what was written by hand; learned in "
        f"{run.seconds:.1f} s: {psnr_label(quality)}"
    )


# ---------------------------------------------------------------- single derivatives


def examine_derivatives(run: Run, stages: SimpleNamespace) -> tuple[list[str], np.ndarray]:
    """(names of registered derivatives that disagree with finite differences, their picture).

    Raises `InputError` if there are any, unless --force is given.
    """
    candidates = comparison.candidates(run.options.seed)
    wrong = stages.wrong_derivatives(candidates)
    run.say("derivative of   largest difference to finite differences, of ten points")
    for name, function, derivative, points in candidates:
        error = comparison.largest_error(function, derivative, points)
        verdict = "   WRONG" if name in wrong else ""
        run.say(f"  {name:<14}{error:.1e}{verdict}")
    known = {name: (function, derivative) for name, function, derivative, _ in candidates}
    curves = draw_curves([(name, *known[name]) for name in CURVES])
    if wrong and not run.options.force:
        run.save_picture("derivatives.png", curves)
        raise InputError(
            f"the derivative of {wrong[0]} is wrong: finite differences say something else; see "
            f"{run.folder.path / 'derivatives.png'}, or go on with --force"
        )
    return wrong, curves


# ---------------------------------------------------------------- whole networks


def compare(
    run: Run, stages: SimpleNamespace, image: np.ndarray
) -> tuple[list[comparison.Row], list[comparison.Slope], WrittenSiren, str]:
    """(rows of the table, finite differences of the loss, the network they belong to, the kernels
    of the lake's network).
    """
    given = {"seed": run.options.seed, "steps_back": stages.backward_steps}
    lake, written = comparison.compare_lake(run.device, **given)
    siren, learner = comparison.compare_siren(run.device, image, **given)
    slopes = comparison.slopes_of_the_loss(learner)
    if run.fused:
        from kernels.derivatives.fused import FusedWrittenSiren  # a handout lacks it

        fused, _ = comparison.compare_siren(run.device, image, kind=FusedWrittenSiren, **given)
        siren += [row._replace(network="fused") for row in fused]
    return [*lake, *siren], slopes, learner, written.source


def show_differences(run: Run, rows: list[comparison.Row], slopes: list[comparison.Slope]) -> None:
    """Print and write the tables. Raises `InputError` for gradients that are too far apart."""
    lines = [
        "gradients written by machine, and by hand (kernels/backward.py, kernels/siren)",
        f"{'network':<8}{'of':<12}{'numbers':>8}{'largest':>11}{'difference':>12}{'relative':>11}",
    ]
    lines += [
        f"{row.network:<8}{row.parameter:<12}{row.numbers:>8,}{row.largest:>11.2e}"
        f"{row.difference:>12.1e}{row.relative:>11.1e}"
        for row in rows
    ]
    lines += ["", "the loss along ten parameters of the SIREN, by finite differences"]
    lines += [f"{'parameter':>10}{'gradient':>13}{'slope':>13}{'relative':>11}"]
    lines += [
        f"{slope.number:>10}{slope.gradient:>13.6f}{slope.slope:>13.6f}"
        f"{abs(slope.slope / slope.gradient - 1):>11.1e}"
        for slope in slopes
    ]
    run.say("\n".join(["", *lines, ""]))
    run.save_text("differences.txt", "\n".join(lines) + "\n")
    apart = [row for row in rows if not row.relative <= FLOAT32]
    if apart and not run.options.force:
        raise InputError(
            f"the gradient of {apart[0].parameter} of the {apart[0].network} differs by "
            f"{apart[0].relative:.1e} of its size from the one written by hand; see "
            f"{run.folder.path / 'differences.txt'}, or go on with --force"
        )


def show_source(run: Run, learner: WrittenSiren) -> None:
    """The heart of both backward passes, side by side: the loss, and a layer."""
    layer = max(int(name[8:]) for name in learner.arrays if name.startswith("weights_")) - 1
    pairs = [
        ("find_grad_loss", siren_by_hand.colour_deltas),
        (f"find_grad_wave_{layer}", siren_by_hand.sine_backward),
    ]
    blocks = []
    for name, by_hand in pairs:
        left = next(
            part for part in learner.written.source.split("\n\n\n") if f"def {name}(" in part
        )
        right = inspect.getsource(by_hand.py_func).rstrip()
        blocks.append((left, right))
    run.save_text("side_by_side.txt", "\n\n".join(beside(*block, 200) for block in blocks) + "\n")
    width = shutil.get_terminal_size((100, 24)).columns
    run.say("\nwritten by machine, and by hand (kernels/siren/layers.py); the whole text is in")
    run.say(f"{run.folder.path / 'written_siren.py'}\n")
    for left, right in blocks:
        run.say((beside(left, right, width) if width >= 150 else f"{left}\n\n{right}") + "\n")


def beside(left: str, right: str, width: int) -> str:
    """Two texts in two columns; lines that are too long go on in the next one."""
    column = (width - 3) // 2
    columns = []
    for text in (left, right):
        lines = []
        for line in text.splitlines():
            indent = " " * (len(line) - len(line.lstrip()) + 4)
            lines += textwrap.wrap(line, column, subsequent_indent=indent) or [""]
        columns.append(lines)
    rows = max(map(len, columns))
    padded = [lines + [""] * (rows - len(lines)) for lines in columns]
    return "\n".join(f"{a:<{column}} | {b}".rstrip() for a, b in zip(*padded, strict=True))


# ---------------------------------------------------------------- training


def train(run: Run, stages: SimpleNamespace, image: np.ndarray) -> WrittenSiren:
    """The network of the options, after all its steps."""
    options = run.options
    learner = new_learner(
        run, image, options.seed, options.batch, run.device, options.width, options.layers,
        options.activation, stages.backward_steps,
    )  # fmt: skip
    run.say(
        f"training {learner.parameters.shape[0]:,} parameters with "
        f"{learner.written.source.count('@cuda.jit')} kernels that nobody wrote"
    )
    begin = learner.device.to_host(learner.parameters)
    run.patiently("compiling the network's kernels", lambda: learner.train(1))
    learner.begin_again(begin)
    height, width, _ = image.shape
    across = min(SMALL_WIDTH, width)
    size = across, max(1, round(across * height / width))
    shown = max(1, options.steps // SHOWN)
    for step in run.steps():
        learner.train(step)
        if step % EVERY == 0 or step in (1, options.steps):
            with run.aside():
                loss = learner.loss()
            if not math.isfinite(loss):
                raise InputError(f"the loss is {loss} at step {step:,}: try fewer --layers")
            run.log(step, loss=loss, psnr_db=psnr_of_loss(loss))
        if step in (1, 10) or step % shown == 0:
            with run.aside():
                run.show(step, learner.paint(*size))
    return learner


def new_learner(run: Run, *given: Any) -> WrittenSiren:
    """A `WrittenSiren`, with fused kernels where they can be had."""
    if run.fused:
        from kernels.derivatives.fused import FusedWrittenSiren  # a handout lacks it
        from kernels.derivatives.fused_writer import Unfit

        try:
            learner = FusedWrittenSiren(*given)
        except Unfit as reason:
            run.say(f"this network cannot be fused: {reason}; so its kernels are the readable ones")
        else:
            run.save_text("written_fused.py", learner.written.source)
            return learner
    return WrittenSiren(*given)


COMMAND = Command(
    "15_derivatives",
    "Let a machine write a network's backward pass, compare it with those written by hand, and "
    "learn a picture with it.",
    work,
    500,
    add_options,
    has_fused=True,
)

if __name__ == "__main__":
    COMMAND.start()
