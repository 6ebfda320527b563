"""The command of a lesson, `python -m lessons.NN_name`: its options, its picture, how it ends."""

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from kernels.config import MAX_SEED, MAX_STEPS, require_integer
from kernels.files.atomic import OBSTACLES, unwritable
from kernels.files.images import load_image
from kernels.files.pictures import resize
from kernels.plumbing.errors import InputError, OneLineParser, not_empty
from kernels.plumbing.program import complain, complain_of_interruption, run
from kernels.training.waiting import leave
from lessons.capstones.device import BACKENDS, FUSED
from lessons.capstones.run import Run
from lessons.capstones.stages import fill_kernels
from lessons.course.earlier import in_handout
from lessons.course.lesson import ROOT, find_lesson

LAKE = ROOT / "images" / "lake.png"


def no_options(parser: argparse.ArgumentParser) -> None:
    """A lesson without options of its own."""


def add_image(parser: argparse.ArgumentParser) -> None:
    """The option of a lesson that learns a picture: `options.image`, a Path."""
    parser.add_argument(
        "image", nargs="?", type=path, default=LAKE, metavar="IMAGE",
        help="the picture to learn (default: the lake)",
    )  # fmt: skip


def add_image_and_limit(parser: argparse.ArgumentParser) -> None:
    """The options of a lesson for which a smaller picture will do: `image` and `limit`."""
    add_image(parser)
    parser.add_argument(
        "--limit", type=whole_number(8, 65_536), metavar="N",
        help="make a larger picture smaller first, to at most N pixels on its longer side "
        "(default: learn it as it is)",
    )  # fmt: skip


def picture_to_learn(path: Path, limit: int | None) -> np.ndarray:
    """(H, W, 3) float32 in [0, 1], at most `limit` pixels on a side. Raises `InputError`."""
    image = load_image(path)
    height, width, _ = image.shape
    if limit is None or max(width, height) <= limit:
        return image
    scale = limit / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(resize(image, size), np.float32) / 255


def path(text: str) -> Path:
    """An argument's type for argparse: a path that is not empty."""
    return Path(not_empty(text))


class Command(NamedTuple):
    """What a lesson's command does, and what it is told.

    lesson: the name of its folder, such as "13_siren". description: one sentence, for --help.
    work: does it; takes the `Run`, returns the last line that is printed. steps: the default of
    --steps; None if there is nothing to train, and no such option. add_options: gives the parser
    those of the lesson, each with its default in the help. has_fused: whether a whole step can be
    done by kernels of `run.fused`. fused_steps: the default of --steps there; `work` sets it.
    """

    lesson: str
    description: str
    work: Callable[[Run], str]
    steps: int | None = None
    add_options: Callable[[argparse.ArgumentParser], None] = no_options
    has_fused: bool = False
    fused_steps: int | None = None

    @property
    def number(self) -> str:
        """As people write it, such as "13"."""
        return self.lesson.partition("_")[0].lstrip("0")

    def parse(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:
        """Raises `InputError` for options that cannot be used."""
        parser = OneLineParser(
            prog=f"python -m lessons.{self.lesson}", description=self.description
        )
        self.add_options(parser)
        add = parser.add_argument
        # fmt: off
        if self.steps is not None:
            fast = f"; with the fused kernels {self.fused_steps:,}" if self.fused_steps else ""
            default = None if self.fused_steps else self.steps
            add("--steps", type=int, default=default, metavar="N",
                help=f"training steps, 1 or more (default: {self.steps:,}{fast})")
        add("--seed", type=int, default=1, metavar="N",
            help="what all random numbers follow from, 0 or more (default: 1)")
        choices = (*BACKENDS, FUSED) if self.has_fused else BACKENDS
        fused = "; fused, the same in faster kernels" if self.has_fused else ""
        add("--backend", choices=choices, default="auto", metavar="NAME",
            help=f"where the kernels run: cuda, which needs a GPU{fused}; native, compiled for the "
            "CPU; or auto (default: auto, the GPU if there is one)")
        add("--use", choices=("lessons",), metavar="lessons",
            help="run the kernels of your exercise.py: lessons (default: ours)")
        add("--force", action="store_true",
            help="with --use: take kernels that fail their checks too (default: refuse them)")
        add("--out", metavar="FOLDER", type=not_empty,
            help=f"folder for everything the run writes (default: runs/{self.lesson}; with --use "
            f"runs/{self.lesson}-lessons)")
        add("--overwrite", action="store_true",
            help="begin anew in the place of the run that lies in the folder (default: leave it)")
        add("--quiet", action="store_true",
            help="print nothing but the last line (default: say what happens, and how far it is)")
        # fmt: on
        options = parser.parse_args(arguments)
        given = sys.argv[1:] if arguments is None else arguments
        options.command = shlex.join(["python", "-m", f"lessons.{self.lesson}", *given])
        self.require_sense(options)
        return options

    def require_sense(self, options: argparse.Namespace) -> None:
        if self.steps is not None and options.steps is not None:
            require_integer("--steps", options.steps, 1, MAX_STEPS)
        require_integer("--seed", options.seed, 0, MAX_SEED)
        if options.force and not options.use and not in_handout(find_lesson(self.number)):
            raise InputError("--force is only for --use")
        if options.backend == FUSED and options.use:
            raise InputError("--backend fused is for our kernels; for yours take --backend cuda")

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the command; returns the exit status. What the user can mend ends in one line."""
        try:
            options = self.parse(arguments)
            run = Run(self.lesson, self.number, options, self.folder_of(options))
            run.folder.require_consent()
            fill_kernels(find_lesson(self.number), options.force, run.say)
            verdict = self.work(run)
        except InputError as error:
            return complain(error)
        except OSError as error:
            # Numba keeps compiled code on the disk, and lets a full one surprise us.
            if error.errno not in OBSTACLES:
                raise
            return complain(unwritable(error.filename or "compiled code", error))
        except MemoryError:
            return complain("not enough memory for this; close other programs, or choose less")
        except KeyboardInterrupt as interruption:
            return complain_of_interruption(interruption)
        if run.interrupted_by:
            print(f"interrupted at step {run.step:,} of {options.steps:,}")
        print(f"{verdict}; in {run.folder.path}" if run.folder.begun else verdict)
        return 128 + run.interrupted_by if run.interrupted_by else 0

    def start(self) -> NoReturn:
        """Be the program: what comes of `main` is its exit status."""
        leave(run(self.main))

    def folder_of(self, options: argparse.Namespace) -> Path:
        if options.out:
            return Path(options.out)
        return Path("runs") / (self.lesson + ("-lessons" if options.use else ""))


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """An argument's type for argparse: an int in a range."""

    def parse(text: str) -> int:
        value = int(text) if re.fullmatch("[0-9]{1,12}", text) else -1
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no whole number from {lowest:,} to {highest:,}"
            )
        return value

    return parse
