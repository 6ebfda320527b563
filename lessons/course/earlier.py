"""Functions that a lesson's kernels or its command call, where `kernels/` holds no solutions.

In the project itself a lesson builds on the functions of `kernels/`. A handout (see
`lessons.grading.classroom.handout`) has none: there, each lesson's folder has an `earlier.json`,

    {"02_resample": {"kernels.field_math": ["neighbours", "corner_weights"]}}

and these functions are the student's own, of exercise.py of that lesson; or, if the instructor puts
a file `solutions/02_resample.py` there, those of that file. A lesson that ends in a command has a
`command.json`, too: the same for all that its command calls, also of the lesson itself.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kernels.plumbing.errors import InputError
from lessons.course.lesson import LESSONS, ROOT, Lesson
from lessons.course.source_text import as_utf8, read_plain_file

NEEDED, COMMAND = "earlier.json", "command.json"
SOLUTIONS = ROOT / "solutions"


class Earlier(NamedTuple):
    """A file of an earlier lesson, and which of its functions take whose place."""

    name: str  # of the lesson
    text: bytes  # UTF-8
    functions: dict[str, list[str]]  # module of kernels/ -> names
    path: Path

    @property
    def names(self) -> list[str]:
        return [name for names in self.functions.values() for name in names]


def in_handout(lesson: Lesson) -> bool:
    return (lesson.folder / NEEDED).exists()


def is_given(lesson: Lesson) -> bool:
    """Whether the instructor has put our solution of a lesson into a handout."""
    return in_handout(lesson) and given_file(lesson.name).exists()


def given_file(name: str) -> Path:
    return SOLUTIONS / f"{name}.py"


def written_file(lesson: Lesson) -> Path:
    """The file whose functions stand for a lesson's: a given one, else the student's own."""
    return given_file(lesson.name) if is_given(lesson) else lesson.exercise


def earlier_files(lesson: Lesson, table: str = NEEDED) -> Sequence[Earlier]:
    """What a lesson needs of earlier ones; nothing where `kernels/` holds the solutions.

    table: `NEEDED`, or `COMMAND` for what its command needs. Raises `InputError` if a file is
    missing.
    """
    needed = lesson.folder / table
    if not needed.exists():
        return ()
    found = []
    for name, functions in json.loads(needed.read_text(encoding="utf-8")).items():
        path = given_file(name)
        if not path.exists():
            path = LESSONS / name / "exercise.py"
        try:
            text = as_utf8(read_plain_file(path))
        except OSError:
            raise InputError(f"{lesson.name} builds on {name}, but there is no {path}") from None
        found.append(Earlier(name, text, functions, path))
    return found
