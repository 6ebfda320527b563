"""Train a small neural network to paint a picture: `python train.py [IMAGE]`.

Reads top to bottom: a run, then painting with what it leaves behind. The options are in
`kernels/training/command_line.py`.
"""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import (
    STARTED,
    Interruption,
    complain,
    complain_of_interruption,
    prepare,
    run,
)

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import argparse
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernels.config import MAX_STEPS, Config, fitting_grid, require_integer
from kernels.files.atomic import OBSTACLES, refuse_to_replace, unwritable
from kernels.files.images import load_image, require_image_suffix, save_image
from kernels.files.psnr import psnr_label
from kernels.plumbing.errors import InputError
from kernels.training import checkpoint, lake_model
from kernels.training.backend import BackendFactory, ChosenBackend
from kernels.training.checkpoint import RunProgress
from kernels.training.choose_backend import choose_backend
from kernels.training.command_line import config_from, parse, scaled_size, snapshot_steps
from kernels.training.results import Results
from kernels.training.run_folder import RunFolder, default_folder
from kernels.training.trainer import Trainer, frame_steps, measured_steps
from kernels.training.waiting import Timings, leave, patiently, training_bar

LAKE = Path(__file__).resolve().parent / "images" / "lake.png"
LOG_EVERY = 100
EXIT_OK = 0


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = parse(arguments)
        if options.render:
            return render_model(options)
        return train(options)
    except InputError as error:
        return complain(error)
    except OSError as error:
        # Numba keeps compiled code on the disk, and lets a full one surprise us.
        if error.errno not in OBSTACLES:
            raise
        return complain(unwritable(error.filename or "compiled code", error))
    except MemoryError:
        return complain("not enough memory; choose a smaller image, --grid, --batch or --scale")
    except KeyboardInterrupt as interruption:
        return complain_of_interruption(interruption)


# ---------------------------------------------------------------- a run


def find_backend(options: argparse.Namespace, config: Config) -> ChosenBackend:
    """The backend that the options ask for. Raises `InputError` if it cannot be had."""
    if options.use and options.deterministic:
        raise InputError("--deterministic is not for --use: the lessons' kernels add as they come")
    if options.use and not config.is_usual_network:
        raise InputError(
            "--use is for the usual network, which the lessons build: leave out --channels, "
            "--octaves, --activation, --output, --biases and --hidden 128"
        )
    if options.use:
        from lessons.student_backend import student_backend

        return student_backend(options.use, options.backend, options.force)
    if options.backend == "native" and options.deterministic:
        raise InputError(
            "--backend native adds gradients as its threads come; for --deterministic take "
            "--backend cpu"
        )
    if options.backend == "native":
        from lessons.native_backend import NativeBackend

        explanation = "running the CUDA kernels on the CPU, as they are written"
        return ChosenBackend("native", NativeBackend, explanation)
    # Asking a GPU means compiling for it.
    return patiently(
        "looking for a GPU",
        lambda: choose_backend(options.backend, config, options.deterministic),
        options.quiet,
    )


def train(options: argparse.Namespace) -> int:
    timings = Timings(STARTED if __name__ == "__main__" else time.perf_counter())
    timings.end_of("loading packages")
    config = config_from(options)  # complains, if it has to, before anything takes time
    require_integer("--checkpoint-every", options.checkpoint_every, 0, MAX_STEPS)
    image_path = Path(options.image or LAKE)
    image = load_image(image_path, options.shrink)
    height, width, _ = image.shape
    options.grid = options.grid or fitting_grid(width, height)
    say: Callable[[str], None] = (lambda text: None) if options.quiet else print
    run_folder = find_folder(options, image_path, image)
    run_folder.require_consent()
    if not options.out and run_folder.path != usual_folder(options):
        say(f"{usual_folder(options)} is of another picture: this run is in {run_folder.path}")
    lake = lake_model.file_to_write(options, run_folder.path, image_path) if config.bits else None
    timings.end_of("reading the picture")
    chosen = find_backend(options, config)
    timings.end_of("choosing where to train")
    config = config_from(options, run_folder.steps_begun or chosen.steps, chosen.batch)
    snapshots = snapshot_steps(options.snapshots, config.steps)
    results = Results(run_folder, options.format, snapshots, lake)

    def ready_trainer() -> Trainer:
        trainer = open_run(options, config, image, chosen.factory, results.checkpoint_path, say)
        if trainer.step < config.steps:
            trainer.compile()
        return trainer

    with run_folder.in_use(results.planned, [image_path]), results:
        say(chosen.explanation)
        trainer = patiently("compiling", ready_trainer, options.quiet)
        timings.end_of("compiling")
        results.make_page(trainer, options.command, options.live, options.quiet)
        before = trainer.progress.seconds
        with Interruption() as interrupted:
            loop(trainer, options, results, interrupted)
        trained = trainer.progress.seconds - before
        timings.add("training", trained)
        timings.end_of("pictures and checkpoints meanwhile", without=trained)
        if trainer.step == 0:
            raise KeyboardInterrupt(interrupted.number)
        summary = results.write(trainer, image_path)
    timings.end_of("pictures and tables at the end")
    if options.timings:
        print(timings.table())
    if trainer.step < config.steps:
        print(f"interrupted at step {trainer.step:,}; go on with --resume --out {run_folder.path}")
    print(f"{verdict(summary)}; the pictures are in {run_folder.path}")
    return EXIT_OK if trainer.step == config.steps else 128 + interrupted.number


def find_folder(options: argparse.Namespace, image_path: Path, image: np.ndarray) -> RunFolder:
    """The folder of --out, or one in `runs` that belongs to this picture."""
    digest = checkpoint.image_digest(image)
    path = Path(options.out) if options.out else default_folder(usual_folder(options), digest)
    return RunFolder(path, image_path, digest, options.resume, options.overwrite)


def usual_folder(options: argparse.Namespace) -> Path:
    return Path("runs") / (Path(options.image or LAKE).stem + ("-lessons" if options.use else ""))


def verdict(summary: dict[str, Any]) -> str:
    ours, best = summary["psnr_db"], summary["baseline_best_psnr_db"]
    # A picture of one colour is painted without any error, and then there is no difference in dB.
    gain = ours - best
    gain_label = f" ({gain:+.2f} dB)" if math.isfinite(gain) else ""
    baseline = psnr_label(summary["baseline_psnr_db"])
    return (
        f"PSNR {psnr_label(ours)}, bilinear baseline {baseline}, "
        f"best bilinear grid {psnr_label(best)}{gain_label}{lake_model.verdict(summary)}"
    )


def open_run(
    options: argparse.Namespace,
    config: Config,
    image: np.ndarray,
    factory: BackendFactory,
    checkpoint_path: Path,
    say: Callable[[str], None],
) -> Trainer:
    """A fresh trainer, or with --resume the one that the checkpoint holds."""
    if not options.resume:
        return Trainer(image, config, factory)
    if not checkpoint_path.exists():
        say(f"no checkpoint in {checkpoint_path.parent} yet: starting at step 0")
        return Trainer(image, config, factory)
    progress, state = checkpoint.load_checkpoint(checkpoint_path, config, image)
    say(f"going on from step {progress.step:,}{checkpoint.departure(progress, config.steps)}")
    return Trainer(image, config, factory, progress, state)


def loop(
    trainer: Trainer, options: argparse.Namespace, results: Results, interrupted: Interruption
) -> None:
    """Train to the end, or until interrupted; log, save pictures and checkpoints on the way."""
    steps = trainer.config.steps
    height, width, _ = trainer.image.shape
    checkpoints = set(range(0, steps, options.checkpoint_every or steps)) | {steps}
    frames = frame_steps(steps)
    measured = measured_steps(steps, trainer.config.batch, width * height) | set(results.snapshots)
    logs = set(range(0, steps, LOG_EVERY))
    stops = sorted(
        step for step in logs | checkpoints | frames | measured if trainer.step < step <= steps
    )

    if interrupted() and trainer.step == 0:
        return  # before anything of an earlier run is replaced
    results.begin(anew=trainer.step == 0)
    with training_bar(trainer.step, steps, options.quiet) as bar:
        for stop in stops:
            trainer.advance(stop, interrupted)
            if trainer.step < stop:
                break
            # Also after Ctrl-C: the resumed run will not come by this step again.
            loss = trainer.log()
            if stop in measured:
                trainer.measure()
            bar.set_postfix_str(postfix(loss, trainer.progress), refresh=False)
            bar.update(trainer.step - bar.n)
            if stop in frames:
                results.add_frame(trainer)
            if stop in results.snapshots:
                results.save_snapshot(trainer)
            if stop in checkpoints:
                results.save_checkpoint(trainer)
            results.renew_if_due(trainer)
            if interrupted():
                break
    if interrupted() and trainer.step > 0:
        results.save_checkpoint(trainer)


def postfix(loss: float, progress: RunProgress) -> str:
    """What the progress bar says besides the step. loss: of the last batches."""
    if not progress.measured:
        return f"loss {loss:.5f}"
    step, decibels = progress.measured[-1]
    when = "" if step == progress.step else f" at step {step:,}"
    return f"loss {loss:.5f}, PSNR {psnr_label(decibels)}{when}"


# ---------------------------------------------------------------- a trained network


def render_model(options: argparse.Namespace) -> int:
    """Paint a trained network at any size, or tell one texel of a `.lake` file."""
    if options.texel:
        print(lake_model.texel_in_words(Path(options.render), *options.texel))
        return EXIT_OK
    require_image_suffix(options.to)
    refuse_to_replace(options.to, options.overwrite)
    config, state, *size = checkpoint.load_model(Path(options.render))
    width, height = scaled_size(options.scale, *size)
    chosen = find_backend(options, config)
    nothing = np.zeros((1, 1, 3), np.float32)  # painting needs no target image
    picture = patiently(
        "painting",
        lambda: chosen.factory(nothing, config, state).render(width, height),
        options.quiet,
    )
    save_image(options.to, picture, options.overwrite)
    if not options.quiet:
        print(f"painted {width} x {height} pixels: {options.to}")
    return EXIT_OK


if __name__ == "__main__":
    leave(run(main))
