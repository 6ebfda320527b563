"""Read what a lesson's folder says about it: its title, its exercise, its checks.

`lesson.toml` of a lesson:

    title           one line
    hours           how long it takes somebody who knows Python, about
    builds_on       numbers of the earlier lessons that it builds on, such as ["1", "5b"]; in part
                    one, where the lessons are taken in their order, there is none
    [exercise]      header: the docstring of exercise.py; blank: the functions that a student
                    writes; keep_comments: those of them whose comments stay in exercise.py to
                    guide the student, so each has to make sense without the code around it;
                    warm_ups: those of them that come first and on which nothing builds;
                    atomics: those of them in which atomics belong, others are told other ways
    [[exercise.part]]   a file of kernels/, and which of its functions exercise.py holds
    [[check]]       name, title, points, timeout (seconds), tolerance and the reason for it, the
                    functions it needs, three hints; gpu = true if it means nothing without a GPU;
                    doubles = true if it looks for double precision, and others need not
"""

import functools
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from kernels.plumbing.errors import InputError
from lessons.course.source_text import read_plain_file

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

LESSONS = Path(__file__).resolve().parent.parent
ROOT = LESSONS.parent
POINTS_PER_LESSON = 10
PARTS = {1: "part one", 2: "part two"}
FIRST_OF_PART_TWO = 10
HINTS_PER_CHECK = 3
# Asked for several times per command. Who asks changes nothing in what it is given.
parsed_toml = functools.lru_cache(maxsize=64)(tomllib.loads)


class Check(NamedTuple):
    name: str
    title: str
    points: int
    timeout: float  # seconds
    tolerance: float
    tolerance_reason: str
    needs: list[str]  # names of functions that must have been written
    hints: list[str]
    doubles: bool = False  # if a lesson has such a check, double precision costs no other one
    gpu: bool = False  # skipped, and seen to be skipped, where there is no GPU


class Part(NamedTuple):
    file: str  # relative to the project, such as "kernels/encode.py"
    functions: list[str]

    @property
    def module(self) -> str:
        """The file as it is imported, such as "kernels.encode"."""
        return self.file.removesuffix(".py").replace("/", ".")


class Lesson(NamedTuple):
    number: str  # as people write it, such as "4" or "5b"
    name: str  # of its folder, such as "04_encode" or "05b_histogram_and_sum"
    folder: Path
    title: str
    hours: float
    header: str
    blank: list[str]  # names of the functions that the student writes
    keep_comments: list[str]  # those of them whose comments exercise.py keeps
    parts: list[Part]
    checks: list[Check]
    builds_on: list[str]  # numbers of earlier lessons
    warm_ups: list[str]  # names of functions of `blank` that no other one builds on
    atomics: list[str]  # names of functions of `blank` in which atomics belong

    @property
    def exercise(self) -> Path:
        """The file that the student edits, and the only one that is graded."""
        return self.folder / "exercise.py"

    @property
    def short_name(self) -> str:
        """What its folder's name begins with, such as "04" or "05b"; unlike any other lesson's."""
        return self.name.partition("_")[0]

    @property
    def part(self) -> int:
        """The part of the course that it is in: the lake is part one, the systems after it two."""
        return 1 if int(self.short_name[:2]) < FIRST_OF_PART_TWO else 2

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)

    @property
    def main_checks(self) -> list[Check]:
        """Those that look at no warm-up."""
        return [check for check in self.checks if not set(check.needs) & set(self.warm_ups)]

    def check(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        known = ", ".join(check.name for check in self.checks)
        raise InputError(f"{self.name} has no check {name!r}; it has {known}")


def lessons() -> list[Lesson]:
    """Every `Lesson` there is, in order. Raises `InputError` if a lesson.toml cannot be used."""
    folders = [path.parent for path in LESSONS.glob("[0-9][0-9]*_*/lesson.toml")]
    # By what stands before the name: "05" comes before "05b".
    in_order = sorted(folders, key=lambda folder: folder.name.partition("_"))
    return [read_lesson(folder) for folder in in_order]


def find_lesson(number: int | str) -> Lesson:
    """The lesson with this number: 4, "04", "5B". Raises `InputError` if there is none."""
    known = {lesson.number: lesson for lesson in lessons()}
    wanted = str(number).strip().lower().lstrip("0")
    if wanted not in known:
        raise InputError(f"there is no lesson {number}; choose one of {', '.join(known)}")
    return known[wanted]


def find_lessons(numbers: str) -> list[Lesson]:
    """The lessons of a list such as "1,4,5b" or "1-9", in the order of the course, each once.

    Raises `InputError` if there is no such lesson.
    """
    in_order = [lesson.number for lesson in lessons()]
    wanted: set[str] = set()
    for part in numbers.split(","):
        first, dash, last = part.partition("-")
        begin = in_order.index(find_lesson(first).number)
        end = in_order.index(find_lesson(last).number) if dash else begin
        if end < begin:
            raise InputError(f"there are no lessons {part}: write the smaller number first")
        wanted.update(in_order[begin : end + 1])
    return [lesson for lesson in lessons() if lesson.number in wanted]


def read_lesson(folder: Path) -> Lesson:
    """The lesson of a folder. Raises `InputError` if its lesson.toml cannot be used."""
    path = folder / "lesson.toml"
    try:
        content = parsed_toml(path.read_text(encoding="utf-8"))
        exercise = content["exercise"]
        lesson = Lesson(
            number=folder.name.partition("_")[0].lstrip("0"),
            name=folder.name,
            folder=folder,
            title=content["title"],
            hours=float(content["hours"]),
            header=exercise["header"],
            blank=exercise["blank"],
            keep_comments=exercise.get("keep_comments", []),
            parts=[Part(**part) for part in exercise["part"]],
            checks=[Check(**check) for check in content["check"]],
            builds_on=[str(number) for number in content.get("builds_on", [])],
            warm_ups=exercise.get("warm_ups", []),
            atomics=exercise.get("atomics", []),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
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
    told = {"keeps its comments": lesson.keep_comments, "is a warm-up": lesson.warm_ups}
    told["may use atomics"] = lesson.atomics
    for what, names in told.items():
        for name in {*names} - {*lesson.blank}:
            raise InputError(f"{path}: {name} {what}, but is not to be written")
    seen = {name for check in lesson.main_checks for name in check.needs}
    for name in {*lesson.blank} - {*lesson.warm_ups} - seen:
        raise InputError(f"{path}: no check needs {name} without a warm-up")
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
    """SHA-256 of a file, or None if there is no such file that can be read."""
    try:
        return hashlib.sha256(read_plain_file(path)).hexdigest()
    except OSError:
        return None
