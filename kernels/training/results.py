"""What a run leaves in its folder: checkpoints, snapshots, and at the end the report."""

import csv
import io
import json
import math
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numba
import numpy as np
from PIL import Image

from kernels.files import pictures, plot
from kernels.files.atomic import write_atomically
from kernels.files.images import load_image, save_image, to_uint8
from kernels.files.psnr import psnr, psnr_label
from kernels.plumbing.errors import InputError
from kernels.training import checkpoint, page
from kernels.training.devices import version_of
from kernels.training.run_folder import CHECKPOINT, LAKE, RunFolder, files_of_run
from kernels.training.trainer import Trainer

PACKAGES = ("numba", "numba-cuda", "llvmlite", "numpy", "imageio", "pillow")
# The animation's pictures are painted no larger than this, and then made smaller.
LONGEST_FRAME = 2 * pictures.FRAME_SIDES[0]
LONGEST_PREVIEW = 960  # pixels
# Seconds between two previews. Where one takes long, the next waits a hundred times as long.
SHORTEST_PAUSE = 2.0
MOST_OF_THE_TIME = 0.01
WRITING_THREADS = max(2, min(8, (os.cpu_count() or 2) // 2))
MOST_WAITING = 8  # pictures; a large one takes a hundred megabytes


class Results:
    """The output folder of one run.

    suffix: "png" or "ppm", for still pictures. snapshots: the steps at which to keep a prediction
    and the feature grid. lake: the `.lake` file that a whole run writes,
    or None.
    """

    def __init__(
        self, run_folder: RunFolder, suffix: str, snapshots: list[int], lake: Path | None = None
    ) -> None:
        self.run_folder = run_folder
        self.folder = run_folder.path
        self.suffix = suffix
        self.snapshots = snapshots
        self.lake = lake
        self.planned = files_of_run(suffix, snapshots) - ({LAKE} if lake is None else set())
        self.preview = Preview(self.folder / "preview.png")
        self.command = ""
        self.live: page.Live | None = None
        self.writer = PictureWriter()
        self.thumbnails: dict[int, Future[np.ndarray]] = {}  # of this process's snapshots
        self.new_frames: list[tuple[int, float | None, Future[np.ndarray]]] = []

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        self.writer.pool.shutdown(wait=False)
        if self.live:
            self.live.close()

    @property
    def checkpoint_path(self) -> Path:
        return self.folder / CHECKPOINT

    def still(self, name: str) -> Path:
        """The file of a still picture."""
        return self.folder / f"{name}.{self.suffix}"

    def begin(self, anew: bool) -> None:
        """To be called before the first file is written. anew: whether the run is at step 0."""
        self.run_folder.begin(self.planned, anew)

    # ------------------------------------------------------------ while training

    def make_page(self, trainer: Trainer, command: str, live: bool, quiet: bool) -> None:
        """Note what the page tells; live: open it now. quiet: print no line that is not needed."""
        self.command = command
        if live:
            self.live = page.Live(trainer, self.run_folder.image_path.name, command, quiet)

    def renew_if_due(self, trainer: Trainer) -> None:
        """Renew the preview, and what the live page shows, unless that was done just now."""
        self.preview.renew_if_due(trainer)
        if self.live:
            self.live.renew_if_due()

    def add_frame(self, trainer: Trainer) -> None:
        """Keep a small picture for the animation; it is there after `finish_pictures`."""
        decibels = dict(trainer.progress.measured).get(trainer.step)
        picture = self.writer.later(pictures.frame, trainer.render(LONGEST_FRAME))
        self.new_frames.append((trainer.step, decibels, picture))

    def finish_pictures(self, trainer: Trainer) -> None:
        """Wait for all pictures that were begun."""
        self.writer.finish()
        for step, decibels, picture in self.new_frames:
            trainer.progress.frames.append((step, decibels, picture.result()))
        self.new_frames.clear()

    def save_snapshot(self, trainer: Trainer) -> None:
        """Keep the prediction and the feature grid of this step."""
        prediction = trainer.render()
        self.writer.save(self.still(f"prediction_at_{trainer.step}"), prediction)
        if len(self.snapshots) <= pictures.MOST_ON_A_SHEET:
            self.thumbnails[trainer.step] = self.writer.later(thumbnail, prediction)
        grid = trainer.backend.feature_grid()
        if not np.isfinite(grid).all():
            raise InputError(
                f"the feature grid holds no numbers any more (step {trainer.step:,}): training "
                "diverged; try smaller learning rates, such as --lr-mlp 0.001 --lr-grid 0.01"
            )
        self.writer.save(self.still(f"feature_at_{trainer.step}"), pictures.normalise_grid(grid))

    def save_checkpoint(self, trainer: Trainer) -> None:
        """Keep all that a resumed run needs, after the pictures that it will not paint again."""
        self.finish_pictures(trainer)
        checkpoint.save_checkpoint(
            self.checkpoint_path,
            trainer.config,
            trainer.image,
            trainer.progress,
            trainer.backend.state(),
        )

    # ------------------------------------------------------------ at the end

    def write(self, trainer: Trainer, image_path: Path) -> dict[str, Any]:
        """Write all pictures and tables of the run as it stands; returns the summary."""
        self.finish_pictures(trainer)  # which the contact sheet and the animation show
        self.writer.later(self.write_overview, trainer)
        steps, decibels, frames = zip(*trainer.progress.frames, strict=True)
        animation = self.folder / "training.gif"
        self.writer.later(pictures.training_gif, animation, frames, steps, decibels)
        prediction = trainer.render()
        self.writer.save(self.still("prediction"), prediction)
        self.writer.save(self.still("ground_truth"), trainer.image)
        baseline = trainer.baseline()
        self.writer.save(self.still("bilinear"), baseline)
        self.writer.later(self.write_comparison, trainer.image, baseline, prediction)
        best = trainer.best_baseline()
        self.writer.save(self.still("bilinear_best"), best)
        summary = summarise(trainer, image_path)
        summary["psnr_db"] = trainer.psnr()
        summary["baseline_psnr_db"] = psnr(baseline, trainer.image)
        summary["baseline_best_psnr_db"] = psnr(best, trainer.image)
        self.writer.later(self.write_history, trainer, dict(summary))
        shown = page.finished(trainer, summary, self.command, prediction, baseline, best)
        self.write_text(page.PAGE, page.fill(shown).decode())
        self.preview.renew(trainer)
        state = trainer.backend.state()
        seen = state._replace(feature_grid=trainer.backend.feature_grid())
        checkpoint.save_model(self.folder / "model.npz", trainer.config, trainer.image, seen)
        if self.lake and trainer.step == trainer.config.steps:
            from kernels.training.lake_model import save_lake  # which a handout has not

            # Whatever lay in its place in the run's own folder, `begin` has looked at.
            anew = self.run_folder.overwrite or self.lake == self.folder / LAKE
            image, config, factory = trainer.image, trainer.config, trainer.backend_factory
            summary |= save_lake(self.lake, image, config, state, factory, anew)
        self.writer.finish()
        # JSON knows no infinity, which is the PSNR of a picture without any error.
        finite = {key: None if value == math.inf else value for key, value in summary.items()}
        self.write_text("summary.json", json.dumps(finite, indent=2) + "\n")
        if self.live:
            self.live.finish(shown)
        return summary

    def write_history(self, trainer: Trainer, summary: dict[str, Any]) -> None:
        """Losses of the batches and PSNRs of the whole picture, as a table and as a plot.

        Each has steps of its own; where there is no value the table's field is empty.
        """
        losses = dict(trainer.progress.history)
        measured = {**dict(trainer.progress.measured), trainer.step: summary["psnr_db"]}
        steps = sorted(losses | measured)
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(("step", "loss", "psnr_db"))
        writer.writerows((step, losses.get(step, ""), measured.get(step, "")) for step in steps)
        self.write_text("loss.csv", table.getvalue())
        chart = plot.loss_plot(
            steps,
            [losses.get(step, math.nan) for step in steps],
            [measured.get(step, math.nan) for step in steps],
            summary["baseline_psnr_db"],
            summary["baseline_best_psnr_db"],
        )
        save_image(self.folder / "loss.png", chart)

    def write_overview(self, trainer: Trainer) -> None:
        """The contact sheet, from the snapshot files, so that a resumed run shows all of them."""
        taken = [
            step
            for step in self.snapshots
            if step <= trainer.step and self.still(f"prediction_at_{step}").exists()
        ]
        if not taken:
            return
        shown = pictures.evenly_chosen(taken, pictures.MOST_ON_A_SHEET)
        note = f"{len(shown)} of {len(taken):,} snapshots" if len(shown) < len(taken) else ""
        measured = dict(trainer.progress.measured)
        predictions, grids, decibels = [], [], []
        for step in shown:
            grids.append(load_image(self.still(f"feature_at_{step}")))
            if step in self.thumbnails and step in measured:
                predictions.append(self.thumbnails[step].result())
                decibels.append(measured[step])
                continue
            prediction = load_image(self.still(f"prediction_at_{step}"))
            predictions.append(thumbnail(prediction))
            known = measured.get(step)
            decibels.append(psnr(prediction, trainer.image) if known is None else known)
        sheet = pictures.contact_sheet(shown, predictions, grids, decibels, note)
        save_image(self.still("contact_sheet"), sheet)

    def write_comparison(
        self, image: np.ndarray, baseline: np.ndarray, learned: np.ndarray
    ) -> None:
        """What a grid of that size can do on its own, beside what has been learnt."""
        titles = [
            f"{name}\n{psnr_label(psnr(picture, image))}"
            for name, picture in (("bilinear", baseline), ("learned", learned))
        ]
        sheet = pictures.panels([baseline, learned], titles, side=800)
        save_image(self.still("bilinear_and_learned"), sheet)

    def write_text(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, lambda file: file.write(text.encode()))


def thumbnail(picture: np.ndarray) -> np.ndarray:
    """For the contact sheet: uint8, and small, since many large ones would not fit into memory."""
    return np.asarray(pictures.fit(picture, pictures.THUMBNAIL))


def summarise(trainer: Trainer, image_path: Path) -> dict[str, Any]:
    """What the run was and what it cost; `Results.write` adds how good it is."""
    height, width, _ = trainer.image.shape
    progress = trainer.progress
    return {
        "image": image_path.name,
        "width": width,
        "height": height,
        "steps": progress.step,
        "batch": trainer.config.batch,
        "backend": trainer.backend.name,
        "device": trainer.backend.device,
        "deterministic": trainer.backend.deterministic,
        "partitions": trainer.backend.partitions,
        "threads": numba.get_num_threads(),
        "seconds_train": progress.seconds,
        "us_per_step": progress.seconds / progress.step * 1e6,
        "loss": progress.history[-1][1],
        "psnr_db": None,
        "baseline_psnr_db": None,
        "baseline_best_psnr_db": None,
        "parameters": trainer.config.parameter_count,
        "seed": trainer.config.seed,
        "config": trainer.config.as_dict(),
        "versions": versions(),
    }


def versions() -> dict[str, str | None]:
    """What the results depend on: package -> version, None where it is not installed."""
    found = {package: version_of(package) for package in PACKAGES}
    return {"python": platform.python_version(), **found}


# ---------------------------------------------------------------- writing meanwhile


class Preview:
    """A picture that is renewed while a run trains, for a viewer that follows the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.due = time.monotonic() + SHORTEST_PAUSE

    def renew_if_due(self, trainer: Trainer) -> None:
        if time.monotonic() >= self.due:
            self.renew(trainer)

    def renew(self, trainer: Trainer) -> None:
        """Write what the network paints now. Raises `InputError` if that is impossible."""
        begin = time.monotonic()
        picture = Image.fromarray(to_uint8(trainer.render(LONGEST_PREVIEW)))
        write_atomically(self.path, lambda file: picture.save(file, "PNG", compress_level=1))
        end = time.monotonic()
        self.due = end + max(SHORTEST_PAUSE, (end - begin) / MOST_OF_THE_TIME)


class PictureWriter:
    """Writes pictures while the training goes on, some time before `finish` returns.

    To compress a picture takes as long as thousands of steps on a GPU; meanwhile Python is free.
    """

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(WRITING_THREADS, "pictures")
        self.waiting: list[Future[Any]] = []

    def save(self, path: Path, picture: np.ndarray) -> None:
        """As `save_image`, but later. The picture must not be changed any more."""
        self.later(save_image, path, picture)

    def later(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call `work(*arguments)`, which draws or writes a picture; its result is there later."""
        if len(self.waiting) >= MOST_WAITING:
            self.finish()
        self.waiting.append(self.pool.submit(work, *arguments))
        return self.waiting[-1]

    def finish(self) -> None:
        """Wait until all are written. Raises the `InputError` of one that could not be."""
        waiting, self.waiting = self.waiting, []
        wait(waiting)
        for written in waiting:
            written.result()
