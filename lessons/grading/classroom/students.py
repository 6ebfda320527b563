"""Whose a file or folder of a class is: by its name, as Canvas, Moodle and people give it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lessons.course.lesson import Lesson
from lessons.grading.classroom.names import WORDS, lesson_by_name

MOODLE = re.compile(r"^(?P<student>.+?)_\d+_assignsubmission_\w*$")
CANVAS = re.compile(r"^(?P<student>[^_]+)(?P<late>_LATE)?_\d+_\d+_(?P<file>.+)$")
SEPARATOR = re.compile(r"[\s_.-]+")
LESSON_WORD = re.compile(rf"(?:^|[\s_.-]+)(?:{WORDS})$", re.IGNORECASE)
NUMBER = re.compile(r"(?:^|[\s_.-]+)0*[0-9]{1,2}$")
SOURCES = (".py", ".py.txt", ".ipynb")


class Owner(NamedTuple):
    """An entry of a class's folder, and whose it is."""

    path: Path
    student: str  # "" if its name tells nobody
    file: str = ""  # what the student called this file; "" if the entry is more than one file
    late: bool = False  # its name says so


def owner_of(path: Path, lessons: Sequence[Lesson]) -> Owner:
    """Whose this is. A lesson's own name, such as "04_encode", is nobody's."""
    name = path.name
    moodle = MOODLE.match(name)
    if moodle:
        return Owner(path, moodle["student"])
    is_source = name.lower().endswith(SOURCES) and not path.is_dir()
    canvas = CANVAS.match(name)
    if canvas and not path.is_dir():
        file = canvas["file"] if is_source else ""
        return Owner(path, canvas["student"], file, bool(canvas["late"]))
    if is_source:
        return owner_of_file(path, lessons)
    stem = name.removesuffix(".zip") if not path.is_dir() else name
    if not path.is_dir() and not name.lower().endswith(".zip"):
        return Owner(path, "", name)
    return Owner(path, "" if is_only_a_lesson(stem, lessons) else stem)


def owner_of_file(path: Path, lessons: Sequence[Lesson]) -> Owner:
    """Of a loose file such as "alice_04_encode.py" or "mary-jane lesson1.py"."""
    stem = path.name.partition(".")[0]
    for found in reversed(list(SEPARATOR.finditer(stem))):
        rest = stem[found.end() :]
        if lesson_by_name(rest, lessons) is None:
            continue
        student = stem[: found.start()]
        for ending in (NUMBER, LESSON_WORD):
            student = ending.sub("", student)
        return Owner(path, student, path.name[len(student) :].lstrip(" _.-"))
    return Owner(path, "", path.name)


def is_only_a_lesson(name: str, lessons: Sequence[Lesson]) -> bool:
    """Whether a name is a lesson's and nothing else, such as "04_encode" or "Lesson 4"."""
    lesson = lesson_by_name(name, lessons)
    if lesson is None:
        return name.lower() in ("lessons", "kernels")
    left = name.lower().replace(lesson.name.partition("_")[2], "")
    left = re.sub(rf"{WORDS}|[0-9\s_.-]", "", left)
    return not left
