"""Read what a lesson's folder says about it: its title, its exercise, its checks.

`lesson.toml` of a lesson:

    title           one line
    [exercise]      header: the docstring of exercise.py; blank: the functions that a student
                    writes; keep_comments: those of them whose comments stay in exercise.py to
                    guide the student, so each has to make sense without the code around it
    [[exercise.part]]   a file of kernels/, and which of its functions exercise.py holds
    [[check]]       name, title, points, timeout (seconds), tolerance and the reason for it, the
                    functions it needs, three hints; gpu = true if it means nothing without a GPU
"""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from kernels.errors import InputError

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

LESSONS = Path(__file__).resolve().parent.parent
ROOT = LESSONS.parent
POINTS_PER_LESSON = 10
HINTS_PER_CHECK = 3


class Check(NamedTuple):
    name: str
    title: str
    points: int
    timeout: float  # seconds
    tolerance: float
    tolerance_reason: str
    needs: list[str]  # names of functions that must have been written
    hints: list[str]
    gpu: bool = False  # skipped, and seen to be skipped, where there is no GPU


class Part(NamedTuple):
    file: str  # relative to the project, such as "kernels/encode.py"
    functions: list[str]

    @property
    def module(self) -> str:
        """The file as it is imported, such as "kernels.encode"."""
        return self.file.removesuffix(".py").replace("/", ".")


class Lesson(NamedTuple):
    number: int
    name: str  # of its folder, such as "04_encode"
    folder: Path
    title: str
    header: str
    blank: list[str]  # names of the functions that the student writes
    keep_comments: list[str]  # those of them whose comments exercise.py keeps
    parts: list[Part]
    checks: list[Check]

    @property
    def exercise(self) -> Path:
        """The file that the student edits, and the only one that is graded."""
        return self.folder / "exercise.py"

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)

    def check(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        known = ", ".join(check.name for check in self.checks)
        raise InputError(f"{self.name} has no check {name!r}; it has {known}")


def lessons() -> list[Lesson]:
    """Every `Lesson` there is, in order. Raises `InputError` if a lesson.toml cannot be used."""
    folders = sorted(path.parent for path in LESSONS.glob("[0-9][0-9]_*/lesson.toml"))
    return [read_lesson(folder) for folder in folders]


def find_lesson(number: int) -> Lesson:
    """The lesson with this number. Raises `InputError` if there is none."""
    everything = lessons()
    for lesson in everything:
        if lesson.number == number:
            return lesson
    raise InputError(f"there is no lesson {number}; choose one from 1 to {len(everything)}")


def read_lesson(folder: Path) -> Lesson:
    """The lesson of a folder. Raises `InputError` if its lesson.toml cannot be used."""
    path = folder / "lesson.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        exercise = content["exercise"]
        lesson = Lesson(
            number=int(folder.name[:2]),
            name=folder.name,
            folder=folder,
            title=content["title"],
            header=exercise["header"],
            blank=exercise["blank"],
            keep_comments=exercise.get("keep_comments", []),
            parts=[Part(**part) for part in exercise["part"]],
            checks=[Check(**check) for check in content["check"]],
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be used: {type(error).__name__}: {error}") from error
    require_sense(lesson, path)
    return lesson


def require_sense(lesson: Lesson, path: Path) -> None:
    """Raise `InputError` for a lesson that could not be graded fairly."""
    if lesson.points != POINTS_PER_LESSON:
        raise InputError(f"{path}: points sum to {lesson.points}, not {POINTS_PER_LESSON}")
    held = [name for part in lesson.parts for name in part.functions]
    for name in lesson.blank:
        if name not in held:
            raise InputError(f"{path}: {name} is to be written, but no part holds it")
    for name in lesson.keep_comments:
        if name not in lesson.blank:
            raise InputError(f"{path}: {name} keeps its comments, but is not to be written")
    for check in lesson.checks:
        if not re.fullmatch("[a-z0-9_]+", check.name):
            raise InputError(f"{path}: {check.name!r} is no name for a check")
        if not isinstance(check.points, int) or check.points < 1:
            raise InputError(f"{path}: {check.name} is worth {check.points!r} points")
        if len(check.hints) != HINTS_PER_CHECK:
            raise InputError(
                f"{path}: {check.name} has {len(check.hints)} hints, not {HINTS_PER_CHECK}"
            )
        unknown = set(check.needs) - set(lesson.blank)
        if unknown:
            raise InputError(
                f"{path}: {check.name} needs {unknown.pop()}, which is not written here"
            )


def digest(path: Path) -> str | None:
    """SHA-256 of a file, or None if there is no such file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
