"""What a run leaves in its folder: checkpoints, snapshots, and at the end the report."""

import csv
import io
import json
import math
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from kernels.errors import InputError
from kernels.files import pictures, plot
from kernels.files.atomic import write_atomically
from kernels.files.images import load_image, save_image
from kernels.files.psnr import psnr, psnr_of_loss
from kernels.training import checkpoint
from kernels.training.run_folder import CHECKPOINT, RunFolder, files_of_run
from kernels.training.trainer import Trainer

PACKAGES = ("numba", "numba-cuda", "numpy", "imageio", "pillow")


class Results:
    """The output folder of one run.

    suffix: "png" or "ppm", for still pictures. snapshots: the steps at which to keep a prediction
    and the feature grid.
    """

    def __init__(self, run_folder: RunFolder, suffix: str, snapshots: list[int]) -> None:
        self.run_folder = run_folder
        self.folder = run_folder.path
        self.suffix = suffix
        self.snapshots = snapshots
        self.planned = files_of_run(suffix, snapshots)

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

    def add_frame(self, trainer: Trainer) -> None:
        """Keep a small picture for the animation."""
        picture = trainer.render()
        entry = (trainer.step, psnr(picture, trainer.image), pictures.frame(picture))
        trainer.progress.frames.append(entry)

    def save_snapshot(self, trainer: Trainer) -> None:
        """Keep the prediction and the feature grid of this step."""
        save_image(self.still(f"prediction_at_{trainer.step}"), trainer.render())
        grid = trainer.backend.feature_grid()
        if not np.isfinite(grid).all():
            raise InputError(
                f"the feature grid holds no numbers any more (step {trainer.step:,}): training "
                "diverged; try smaller learning rates, such as --lr-mlp 0.001 --lr-grid 0.01"
            )
        save_image(self.still(f"feature_at_{trainer.step}"), pictures.normalise_grid(grid))

    def save_checkpoint(self, trainer: Trainer) -> None:
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
        prediction, baseline = trainer.render(), trainer.baseline()
        save_image(self.still("prediction"), prediction)
        save_image(self.still("ground_truth"), trainer.image)
        save_image(self.still("bilinear"), baseline)
        checkpoint.save_model(
            self.folder / "model.npz", trainer.config, trainer.image, trainer.backend.state()
        )
        summary = summarise(trainer, image_path)
        summary["psnr_db"] = psnr(prediction, trainer.image)
        summary["baseline_psnr_db"] = psnr(baseline, trainer.image)
        self.write_history(trainer.progress.history, summary["baseline_psnr_db"])
        self.write_overview(trainer)
        steps, decibels, frames = zip(*trainer.progress.frames, strict=True)
        pictures.training_gif(self.folder / "training.gif", frames, steps, decibels)
        # JSON knows no infinity, which is the PSNR of a picture without any error.
        finite = {key: None if value == math.inf else value for key, value in summary.items()}
        self.write_text("summary.json", json.dumps(finite, indent=2) + "\n")
        return summary

    def write_history(self, history: list[tuple[int, float]], baseline_psnr: float) -> None:
        """The loss of every log entry as a table and as a plot. history: see `RunProgress`."""
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(("step", "loss", "psnr_db"))
        writer.writerows((step, loss, psnr_of_loss(loss)) for step, loss in history)
        self.write_text("loss.csv", table.getvalue())
        steps, losses = zip(*history, strict=True)
        chart = plot.loss_plot(steps, losses, list(map(psnr_of_loss, losses)), baseline_psnr)
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
        predictions = [load_image(self.still(f"prediction_at_{step}")) for step in taken]
        grids = [load_image(self.still(f"feature_at_{step}")) for step in taken]
        decibels = [psnr(prediction, trainer.image) for prediction in predictions]
        sheet = pictures.contact_sheet(taken, predictions, grids, decibels)
        save_image(self.still("contact_sheet"), sheet)

    def write_text(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, lambda file: file.write(text.encode()))


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
        "seconds_train": progress.seconds,
        "us_per_step": progress.seconds / progress.step * 1e6,
        "loss": progress.history[-1][1],
        "psnr_db": None,
        "baseline_psnr_db": None,
        "parameters": trainer.config.parameter_count,
        "seed": trainer.config.seed,
        "versions": versions(),
    }


def versions() -> dict[str, str | None]:
    """What the results depend on: package -> version, None where it is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found
