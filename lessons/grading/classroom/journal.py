"""The rows of a class as they come: written as soon as a check ends, read again to go on.

`journal.jsonl` is one JSON object per line: what the run was, then a row per check. A line that was
not finished when the power went is left out, and its check runs again.
"""

import hashlib
import json
import os
import platform
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any, NamedTuple

from kernels.files.atomic import unwritable
from kernels.plumbing.errors import InputError
from kernels.training.devices import version_of
from lessons.course.lesson import LESSONS, Lesson
from lessons.grading.judge.result import GRADER_FAILED, Result
from lessons.grading.walls.confine import what_is_enforced

JOURNAL = "journal.jsonl"
FORMAT = 1
BEGINNING = b'{"format": '
PACKAGES = ("numba", "numba-cuda", "numpy")
FIXED = ("format", "seed", "checks", "patience")  # what all rows of a journal have in common

Key = tuple[str, str, str]  # student, lesson, check


class Run(NamedTuple):
    """What decides the grades besides the submissions, and where they were made."""

    seed: int
    patience: float
    checks: str  # SHA-256 of the checks and of what they compare with
    place: dict[str, Any]  # see `this_place`

    def header(self) -> dict[str, Any]:
        return {"format": FORMAT, **self._asdict()}


def is_journal(path: Path) -> bool:
    """Whether a file is a journal, or the beginning of one."""
    try:
        with open(path, "rb") as file:
            first = file.readline(len(BEGINNING))
    except OSError:
        return False
    return first == BEGINNING[: len(first)]


class Journal:
    """An open journal. Has the `run` that it belongs to, and the rows that are known.

    Threads may write at the same time.
    """

    def __init__(self, folder: Path, run: Run, seed_is_chosen: bool) -> None:
        """Open the journal of a folder, or begin one.

        seed_is_chosen: whether the seed of `run` has to be that of an old journal; else it is
        taken from there. Raises `InputError` if an old one belongs to another run.
        """
        self.path = folder / JOURNAL
        self.run = run
        self.rows: dict[Key, tuple[str | None, Result]] = {}
        self.lock = threading.Lock()
        try:
            lines = list(self.lines())
            if lines:
                self.take_header(lines[0], seed_is_chosen)
                for line in lines[1:]:
                    self.take_row(line)
            self.file: IO[str] = open(self.path, "a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise unwritable(self.path, error) from None
        if not lines:
            self.append(run.header())

    def lines(self) -> Iterator[dict[str, Any]]:
        """The whole lines of an old journal; what stands behind the last of them is cut off."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with open(self.path, "r+b") as file:
                file.truncate(len(whole))
        for line in whole.decode("utf-8", "replace").splitlines():
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found

    def take_header(self, header: dict[str, Any], seed_is_chosen: bool) -> None:
        mine = self.run.header()
        if not seed_is_chosen:
            mine["seed"] = header.get("seed", mine["seed"])
            self.run = self.run._replace(seed=mine["seed"])
        for key in FIXED:
            if header.get(key) != mine[key]:
                what = "the checks have changed" if key == "checks" else f"another {key}"
                raise InputError(
                    f"{self.path} was begun with other grades in it ({what}): give another --out, "
                    "or remove it to grade all anew"
                )

    def take_row(self, line: dict[str, Any]) -> None:
        try:
            result = Result(**line["row"])
            key = str(line["student"]), result.lesson, result.check
        except (KeyError, TypeError):
            return
        if result.diagnosis != GRADER_FAILED:
            self.rows[key] = line.get("file"), result

    def known(self, student: str, file: str | None, lesson: str, check: str) -> Result | None:
        """The row of an earlier run, if it was for the same file. file: its SHA-256."""
        found = self.rows.get((student, lesson, check))
        return found[1] if found and found[0] == file else None

    def write(self, student: str, file: str | None, result: Result) -> None:
        with self.lock:
            self.rows[student, result.lesson, result.check] = file, result
            self.append({"student": student, "file": file, "row": result._asdict()})

    def append(self, content: dict[str, Any]) -> None:
        try:
            self.file.write(json.dumps(content) + "\n")
            self.file.flush()
        except OSError as error:
            raise unwritable(self.path, error) from None

    def close(self) -> None:
        self.file.close()


# ---------------------------------------------------------------- where a class is graded


def this_place(jobs: int) -> dict[str, Any]:
    """What should be known to repeat a grading."""
    return {
        "began": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **{package: version_of(package) for package in PACKAGES},
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "jobs": jobs,
        "confinement": confinement(),
    }


def digest_of_checks(lessons: Sequence[Lesson]) -> str:
    """SHA-256 of all that decides a verdict besides the student's file and the engines."""
    graders = LESSONS.glob("grading/**/*.py")
    paths = [*LESSONS.glob("reference/*.py"), *(p for p in graders if "classroom" not in p.parts)]
    for lesson in lessons:
        paths += [lesson.folder / "lesson.toml", *lesson.folder.glob("test_*.py")]
    hashed = hashlib.sha256()
    for path in sorted(paths):
        hashed.update(path.relative_to(LESSONS).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


def confinement() -> list[str]:
    """What keeps a student's code in its place here, and what does not; one line each."""
    lines = ["every file runs in processes of its own, which end with their checks"]
    if os.name == "posix":
        lines.append("memory and the size of files are limited")
    else:
        lines.append("NOT enforced: memory and the size of files")
    if not sys.platform.startswith("linux"):
        lines.append("NOT enforced: processes that leave their group are not found")
    return [*lines, *what_is_enforced(), "use a container for strangers"]
