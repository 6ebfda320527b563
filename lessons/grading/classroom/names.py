"""Which lesson a file is for, and whose it is: by its name, its folder, the functions it holds."""

import ast
import re
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lessons.course.lesson import Lesson
from lessons.course.source_text import syntax_tree

# What students call it. A number right behind one of these words is that of the lesson.
WORDS = "lesson|lektion|lecture|exercise|assignment|homework|task|lab|part|hw|ex|l"
NUMBERED = re.compile(rf"(?:^|_)(?:{WORDS})_?0*([0-9]{{1,2}}[a-z]?)(?=_|$)")
NUMBER_AND_LETTERS = re.compile(r"(?<![0-9])0*([1-9][0-9]*|0)([a-z]+)")
NUMBER_FIRST = re.compile(r"^0*([0-9]{1,2}[a-z]?)(?=_|$)")
# How Canvas, Moodle and people name what a student has handed in.
MOODLE = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_\w*$")
CANVAS = re.compile(r"^(?P<student>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_\d+_(?P<file>.+)$")
SEPARATOR = re.compile(r"[\s_.-]+")
LESSON_WORD = re.compile(rf"(?:^|[\s_.-]+)(?:{WORDS})$", re.IGNORECASE)
NUMBER = re.compile(r"(?:^|[\s_.-]+)0*[0-9]{1,2}$")
SOURCES = (".py", ".py.txt", ".ipynb")


def lesson_by_path(path: str, lessons: Sequence[Lesson]) -> tuple[Lesson, int] | None:
    """(lesson, how far the name is from ours: 0 the same, 1 alike, 2 that of a folder) or None."""
    parts = PurePosixPath(path).parts
    stem = parts[-1].lower().removesuffix(".txt").rpartition(".")[0]
    own = lesson_by_name(stem, lessons)
    if own is not None:
        return own, 0 if parts[-1] == f"{own.name}.py" else 1
    for folder in reversed(parts[:-1]):
        lesson = lesson_by_name(folder.lower().removesuffix(".zip"), lessons)
        if lesson is not None:
            is_ours = folder == lesson.name and parts[-1] == lesson.exercise.name
            return lesson, 0 if is_ours else 2
    return None


def lesson_by_name(name: str, lessons: Sequence[Lesson]) -> Lesson | None:
    """The lesson that a name is about, such as "Lesson 4", "04-encode" or "alice_encode"."""
    text = re.sub(r"[^a-z0-9]+", "_", unicodedata.normalize("NFKC", name).lower()).strip("_")
    numbers = {lesson.number for lesson in lessons}
    text = NUMBER_AND_LETTERS.sub(lambda match: set_apart(match, numbers), text)
    found = NUMBERED.findall(text)
    found += NUMBER_FIRST.findall(text)[: 0 if found else 1]
    by_number = [lesson for lesson in lessons if lesson.number in found]
    by_title = [lesson for lesson in lessons if f"_{title_of(lesson)}_" in f"_{text}_"]
    if by_number and by_title:  # where they do not agree, nothing is told
        by_number = [lesson for lesson in by_number if lesson in by_title]
    candidates = by_number or by_title
    return candidates[0] if len(candidates) == 1 and (by_number or not found) else None


def set_apart(match: re.Match[str], numbers: Collection[str]) -> str:
    """ "4_a" for "4a": a letter behind the number is no part of it. But "5b" is a lesson."""
    return match[1] + match[2] if match[1] + match[2] in numbers else f"{match[1]}_{match[2]}"


def title_of(lesson: Lesson) -> str:
    """Its name without the number, such as "fused_mlp"."""
    return lesson.name.partition("_")[2]


def lessons_in(text: str, lessons: Sequence[Lesson]) -> list[Lesson]:
    """The lessons of which a text defines at least one function that a student is to write.

    Some lessons ask for functions of the same name, such as `training_step`: a lesson is left out
    if another one asks for all that the text has of it, and for more that the text has.
    """
    tree = syntax_tree(text)
    if tree is None:
        return []
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = {lesson.name: defined & set(lesson.blank) for lesson in lessons}
    return [
        lesson
        for lesson in lessons
        if found[lesson.name] and not any(found[lesson.name] < other for other in found.values())
    ]


# ---------------------------------------------------------------- whose it is


class Owner(NamedTuple):
    """An entry of a class's folder, and whose it is."""

    path: Path
    student: str  # "" if its name tells nobody
    file: str = ""  # what the student called this file; "" if the entry is more than one file
    late: bool = False  # its name says so
    id: str = ""  # the number that the platform gives this student; "" if the name has none

    @property
    def is_loose(self) -> bool:
        """Whether only what somebody called the file says whose it is."""
        return bool(self.file) and not self.id


def owner_of(path: Path, lessons: Sequence[Lesson]) -> Owner:
    """Whose this is. A lesson's own name, such as "04_encode", is nobody's."""
    name = path.name
    moodle = MOODLE.match(name)
    if moodle:
        return Owner(path, moodle["student"], id=moodle["id"])
    is_source = name.lower().endswith(SOURCES) and not path.is_dir()
    canvas = CANVAS.match(name)
    if canvas and not path.is_dir():
        file = canvas["file"] if is_source else ""
        return Owner(path, canvas["student"], file, bool(canvas["late"]), canvas["id"])
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
