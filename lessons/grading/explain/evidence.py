"""What a failed check leaves for the student to look at: a picture, and a replay of the run."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels.files.atomic import write_atomically
from lessons.course.lesson import ROOT, Check, Lesson
from lessons.grading.explain.budget_picture import draw_budget
from lessons.grading.explain.comparison import Threads
from lessons.grading.explain.curves import draw_curves
from lessons.grading.explain.picture import draw_check
from lessons.lab.simulator.replay.annotate import with_wrong_result
from lessons.lab.simulator.replay.page import write_replay

SECONDS_TO_DRAW = 20
LONGEST_SIDE = 10_000  # pixels
PICTURES = ROOT / "runs" / "lessons"


class Curve(NamedTuple):
    """What a function was called with. x: (n,). per: its values are drawn divided by this."""

    x: np.ndarray
    per: np.ndarray | float = 1.0


class Evidence:
    """Writes the files of one check. folder: None to write nothing.

    Each function returns the line that tells where the file is, if it could be written.
    """

    def __init__(self, lesson: Lesson, check: Check, folder: Path | None) -> None:
        self.lesson = lesson
        self.check = check
        self.folder = folder
        self.title = f"{lesson.name}, {check.name}"

    def picture(
        self,
        name: str,
        expected: np.ndarray,
        got: np.ndarray,
        sentinel: float,
        tolerance: float,
        threads: Threads | None,
    ) -> list[str]:
        """Draw expected, got and error."""
        return self.write(
            "picture.png",
            lambda path: draw_check(
                name, expected, got, sentinel, tolerance, path, f"{self.title}: {name}", threads
            ),
        )

    def curves(
        self, name: str, expected: np.ndarray, got: np.ndarray, wrong: np.ndarray, over: Curve
    ) -> list[str]:
        """Draw the values of a function over what it was called with."""
        values = expected / over.per, got / over.per
        return self.write(
            "picture.png",
            lambda path: draw_curves(over.x, *values, wrong, path, f"{self.title}: {name}"),
        )

    def budget(
        self, what: str, yours: float, ours: float, allowed: float, advice: str, code: list[str]
    ) -> list[str]:
        """Draw what was counted, beside what is allowed and what we need; see `draw_budget`."""
        return self.write(
            "picture.png",
            lambda path: draw_budget(self.title, what, yours, ours, allowed, advice, code, path),
        )

    def accesses(self, draw: Callable[[], bytes]) -> list[str]:
        """The picture of a run with findings, in which there is no result to compare.

        It shows who touched which element, and in red what is wrong. draw: asks for it, a PNG.
        """
        picture = draw() if self.folder is not None else b""
        if not can_be_shown(picture):
            return []
        return self.write(
            "picture.png", lambda path: write_atomically(path, lambda file: file.write(picture))
        )

    def replay(self, ask: Callable[[], str], annotate: Callable[[str], str] = str) -> list[str]:
        """Write the last run as a page. ask: for its data, "" if nobody has recorded it.

        annotate: adds to the data, and raises `ValueError` if these are none.
        """
        if self.folder is None:
            return []
        try:
            data = ask()
            page = annotate(data) if data else ""
            return self.write("replay.html", lambda path: write_replay(path, page))
        except Exception:  # of a stranger's data; the check has failed anyway
            return []

    def write(self, what: str, write: Callable[[Path], None]) -> list[str]:
        """Write "picture.png" or "replay.html"."""
        kind, suffix = what.split(".")
        if self.folder is None:
            return []
        path = picture_path(self.folder, self.lesson, self.check).with_suffix(f".{suffix}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)
        except Exception:  # what cannot be drawn has been compared, and is told in words
            return []
        return [f"{kind}: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}"]


def can_be_shown(picture: bytes) -> bool:
    """Whether a PNG has a size to show: a few bytes can stand for more than a browser bears."""
    sides = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    return all(0 < side <= LONGEST_SIDE for side in sides)


def picture_path(folder: Path, lesson: Lesson, check: Check) -> Path:
    """Where the picture of a failed check goes."""
    return folder / lesson.short_name / f"{check.name}.png"


def replay_of_wrong(data: str, name: str, wrong: np.ndarray, sentence: str) -> str:
    """The worker's data of a replay, with what the judge knows.

    wrong: bool, which elements of the result `name` are wrong. sentence: the diagnosis. Raises
    `ValueError` if the data is not of a replay.
    """
    if not wrong.any():
        return data
    first = int(np.argmax(wrong))
    index = ", ".join(str(int(i)) for i in np.unravel_index(first, wrong.shape))
    message = f"{name}[{index}] is wrong. {sentence}"
    return with_wrong_result(data, message, name, wrong.shape, first)
