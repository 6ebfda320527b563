"""One run of a lesson's command: its loop, what it measures, and what it leaves behind."""

import argparse
import csv
import io
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numba
import numpy as np

from kernels.files import plot
from kernels.files.atomic import write_atomically
from kernels.files.images import save_image
from kernels.files.pictures import evenly_chosen, frame, training_gif
from kernels.files.psnr import psnr_label
from kernels.plumbing.program import Interruption
from kernels.training import page, waiting
from kernels.training.devices import TENSOR_CORES_SINCE, compute_capability
from kernels.training.results import versions
from lessons.capstones.device import Device, choose_device
from lessons.capstones.folder import CapstoneFolder
from lessons.capstones.stages import StageChooser
from lessons.course.earlier import in_handout
from lessons.course.lesson import find_lesson

Result = TypeVar("Result")

SUMMARY, TABLE, PLOT = "summary.json", "loss.csv", "loss.png"
MOST_FRAMES = 24  # on the page
# What else than an underscore between its words a key of the summary lacks, on the page.
NAMES = {
    "psnr_db": "PSNR in dB",
    "baseline_psnr_db": "PSNR of that grid in dB",
    "baseline_grid": "bilinear grid of as many numbers",
    "seconds_train": "seconds of training",
    "us_per_step": "µs per step",
}


class Frame(NamedTuple):
    """A small picture, uint8, as it was at a step; value: what was measured, None if nothing."""

    step: int
    value: float | None
    picture: np.ndarray


class Run:
    """What a lesson's `work` is given.

    options: the command line. folder: where the run writes. stages("13", names): functions of a
    lesson, ours or the student's. step: how many steps are done. seconds: how long they took.
    interrupted_by: the number of the signal that ended the loop, or 0.
    """

    def __init__(self, lesson: str, number: str, options: argparse.Namespace, path: Path) -> None:
        self.lesson = lesson
        self.options = options
        self.folder = CapstoneFolder(path, lesson, options.overwrite)
        self.stages = StageChooser(number, bool(options.use), options.force, self.say)
        self.history: dict[int, dict[str, float]] = {}
        self.frames: list[Frame] = []
        self.latest = np.zeros((1, 1, 3))  # the last frame's picture, as large as it was painted
        self.step = 0
        self.seconds = 0.0
        self.in_loop = False
        self.interrupted_by = 0
        self.bar: Any = None
        self.loops: list[Any] = []

    @cached_property
    def device(self) -> Device:
        """Where the kernels run. Raises `InputError` if what --backend asks for cannot be had."""
        name = self.options.backend
        return self.patiently("looking for a GPU", lambda: choose_device(name))

    @property
    def author(self) -> str:
        """Whose kernels run, in words."""
        if in_handout(find_lesson(self.lesson.partition("_")[0])):
            return "your files"
        return "your exercise.py" if self.options.use else "kernels/"

    @property
    def fused(self) -> bool:
        """Whether to take kernels that do a whole step: only ours can be had so."""
        return self.device.fused and self.author == "kernels/"

    @cached_property
    def on_tensor_cores(self) -> bool:
        """As `fused`, for kernels that need tensor cores; a line tells if the GPU has none."""
        enough = self.fused and compute_capability() >= TENSOR_CORES_SINCE
        if self.fused and not enough:
            self.say("tensor cores come with compute capability 8.0: here the other kernels run")
        return enough

    def say(self, text: str) -> None:
        """Print a line, unless --quiet is given."""
        if not self.options.quiet:
            print(text)

    def patiently(self, what: str, work: Callable[[], Result]) -> Result:
        """The value of `work()`; meanwhile a line tells what is being compiled. See `waiting`."""
        return waiting.patiently(what, work, self.options.quiet)

    # ------------------------------------------------------------ the loop

    def steps(self, most: int | None = None, unit: str = "step") -> Iterator[int]:
        """The numbers of the steps, 1 to `most` (--steps), with a progress bar.

        unit: what is counted, as the bar says it. Ctrl-C ends it after the step at work; what comes
        behind the loop is still done. Raises `KeyboardInterrupt` if no step is done.
        """
        total = self.options.steps if most is None else most
        loop = self.counted(total, unit)
        self.loops.append(loop)
        return loop

    def counted(self, total: int, unit: str) -> Iterator[int]:
        with (
            Interruption() as interrupted,
            waiting.training_bar(0, total, self.options.quiet, unit) as bar,
        ):
            self.bar = bar
            begin = time.perf_counter()
            self.in_loop = True
            for step in range(1, total + 1):
                if interrupted() or self.interrupted_by:
                    break
                yield step
                self.step = step
                bar.update()
            self.device.synchronize()
            self.seconds += time.perf_counter() - begin
            self.in_loop = False
            self.interrupted_by = self.interrupted_by or interrupted.number
        if self.interrupted_by and self.step == 0:
            raise KeyboardInterrupt(self.interrupted_by)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is done in this block, such as painting, does not count as training time."""
        self.device.synchronize()
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.device.synchronize()
            if self.in_loop:
                self.seconds -= time.perf_counter() - begin

    def log(self, step: int, **values: float) -> None:
        """Note what was measured at a step: `loss`, and what else the lesson measures.

        They become columns of loss.csv, and the last ones stand beside the progress bar.
        """
        self.history.setdefault(step, {}).update({key: float(values[key]) for key in values})
        if self.bar is not None:
            latest = {key: value for row in self.history.values() for key, value in row.items()}
            self.bar.set_postfix_str(
                ", ".join(f"{key} {value:.5g}" for key, value in latest.items()), refresh=False
            )

    def show(self, step: int, picture: np.ndarray, value: float | None = None) -> None:
        """Keep what is learned at a step: the page shows it, and an animation may.

        picture: as for `save_picture`. value: what the run measures of it, such as the PSNR in dB.
        """
        self.frames.append(Frame(step, value, frame(picture)))
        self.latest = picture

    # ------------------------------------------------------------ what it leaves behind

    @contextmanager
    def writing(self, *names: str, inputs: Iterable[Path] = ()) -> Iterator[None]:
        """In this block the folder is this run's, and it may write files of these names.

        Beside them come summary.json, loss.csv, loss.png and index.html. inputs: files that the run
        reads, and so must not replace. Until the first file is written, what lies in the
        folder stays.
        """
        _ = self.device  # complains, if it has to, before anything is written
        with self.folder.in_use({*names, SUMMARY, TABLE, PLOT, page.PAGE}, inputs):
            try:
                yield
            finally:
                for loop in self.loops:
                    loop.close()

    def save(self, name: str, write: Callable[[BinaryIO], Any]) -> None:
        """Make a file hold what `write(file)` writes, whole or not at all."""
        self.begin(name)
        write_atomically(self.folder.path / name, write)

    def save_text(self, name: str, text: str) -> None:
        self.save(name, lambda file: file.write(text.encode()))

    def save_picture(self, name: str, picture: np.ndarray) -> None:
        """picture: (H, W) or (H, W, 3), float in [0, 1] or uint8. name: such as "lake.png"."""
        self.begin(name)
        save_image(self.folder.path / name, picture)

    def save_animation(self, name: str, *animation: Any) -> None:
        """A GIF. animation: frames, their steps and PSNRs, as `training_gif` takes them."""
        self.begin(name)
        training_gif(self.folder.path / name, *animation)

    def begin(self, name: str) -> None:
        assert name in self.folder.planned, f"{name} is not among the files of run.writing(...)"
        self.folder.begin()

    def finish(
        self,
        summary: dict[str, Any],
        measure: plot.Measure = plot.PSNR,
        baseline: float = math.nan,
        shown: Mapping[str, np.ndarray] | None = None,
        more: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Write the table and the plot of what was logged, the page, and at last summary.json.

        summary: what the lesson adds to it. measure: what the plot's right panel shows, the first
        column beside the loss. baseline: a dashed line there. shown: name -> picture that the page
        compares with what `show` has kept. more: what it shows -> picture, below on the page.
        """
        if self.history:
            self.save_curve(measure, baseline)
        content = {**self.summary(), **summary, "versions": versions()}
        if self.frames and shown:
            self.save_page(content, measure, baseline, shown, more or {})
        # JSON knows neither infinity nor NaN.
        finite = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in content.items()
        }
        self.save_text(SUMMARY, json.dumps(finite, indent=2) + "\n")

    def summary(self) -> dict[str, Any]:
        """What the run was, and what it cost."""
        ours = {
            "lesson": self.lesson,
            "kernels": "exercise.py" if self.options.use else "kernels/",
            "backend": self.device.name,
            "device": self.device.description,
            "threads": numba.get_num_threads(),
            "seed": self.options.seed,
        }
        if self.step == 0:
            return ours
        return {
            **ours,
            "steps": self.step,
            "seconds_train": self.seconds,
            "us_per_step": self.seconds / self.step * 1e6,
        }

    @property
    def columns(self) -> list[str]:
        """What was logged, the loss first."""
        logged = (key for step in sorted(self.history) for key in self.history[step])
        return list(dict.fromkeys(["loss", *logged]))

    def save_page(
        self,
        summary: dict[str, Any],
        measure: plot.Measure,
        baseline: float,
        shown: Mapping[str, np.ndarray],
        more: Mapping[str, np.ndarray],
    ) -> None:
        def label(value: float | None) -> str:
            if value is None:
                return ""
            return measure.label.format(value) if math.isfinite(value) else psnr_label(value)

        def curve(column: str) -> list[tuple[int, float]]:
            rows = sorted(self.history.items())
            return [(step, row[column]) for step, row in rows if column in row]

        frames = [(one.step, label(one.value), page.address(one.picture, page.SMALL))
                  for one in evenly_chosen(self.frames, MOST_FRAMES)]  # fmt: skip
        frames[-1] = (*frames[-1][:2], page.address(self.latest))
        height, width = self.latest.shape[:2]
        measured = (*self.columns, "")[1]
        lesson = find_lesson(self.lesson.partition("_")[0])
        content = page.content(
            title=f"Lesson {lesson.number}: {lesson.title}",
            words=", ".join(filter(None, [f"step {frames[-1][0]:,}", frames[-1][1],
                                          f"{self.seconds:.1f} s of training"])),
            size=(width, height),
            command=self.options.command,
            shown={name: ("", page.address(picture)) for name, picture in shown.items()},
            frames=frames,
            curves={
                "measured": (f"The {measure.title} {measure.unit}", curve(measured)),
                "loss": (f"Loss: {measure.loss}", curve("loss")),
            },
            baselines=[(measure.baseline, baseline)] if math.isfinite(baseline) else [],
            figures=[(NAMES.get(key, key.replace("_", " ")),
                      value if isinstance(value, str) else f"{value:,.6g}")
                     for key, value in summary.items() if isinstance(value, str | int | float)],
            more=[(name, page.address(picture)) for name, picture in more.items()],
        )  # fmt: skip
        self.save(page.PAGE, lambda file: file.write(page.fill(content)))

    def save_curve(self, measure: plot.Measure, baseline: float) -> None:
        steps, columns = sorted(self.history), self.columns
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(("step", *columns))
        for step in steps:
            writer.writerow((step, *(self.history[step].get(column, "") for column in columns)))
        self.save_text(TABLE, table.getvalue())
        losses, measured = (
            [self.history[step].get(column, math.nan) for step in steps]
            for column in (*columns, "")[:2]
        )
        self.save_picture(PLOT, plot.loss_plot(steps, losses, measured, baseline, measure=measure))
