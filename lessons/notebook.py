"""The course in a notebook, as in `start_here.ipynb`: check what stands in a cell.

The text of that cell is what is graded, as if it were the lesson's exercise.py.
"""

import ast
import base64
import html
import linecache
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kernels.errors import InputError
from kernels.files.atomic import write_atomically
from lessons.__main__ import lines_of, main
from lessons.course.exercises import (
    SourceFile,
    exercise_text,
    import_lines,
    names_in,
    unwritten,
)
from lessons.course.lesson import ROOT, Lesson, find_lesson
from lessons.course.progress import CourseProgress
from lessons.grading.run import Result, checks_of, run_check
from lessons.grading.submission import Submission
from lessons.grading.worker_pool import WorkerPool
from lessons.lab.source import python_function

# What does nothing but give names. All else in a cell is an experiment, and not part of the work.
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign)
PICTURE = "picture: "


def course(command: str = "") -> None:
    """What `python -m lessons COMMAND` does in a terminal, such as course("hint 1")."""
    main(command.split())


class CellGrade:
    """What a cell's functions got; a notebook shows it, with pictures of what is wrong."""

    def __init__(self, lines: list[str], pictures: Sequence[Path] = (), passed: bool = False):
        self.lines = lines
        self.pictures = pictures
        self.passed = passed

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        parts = [f"<pre>{html.escape(repr(self))}</pre>"]
        for path in self.pictures:
            content = base64.b64encode(path.read_bytes()).decode()
            parts.append(f'<img style="max-width: 100%" src="data:image/png;base64,{content}">')
        return "\n".join(parts)


def check_cell(number: int, *functions: Callable) -> CellGrade:
    """Run the checks of a lesson on the cell in which these functions were written.

    number: of the lesson. functions: those that the lesson asks for, all from one cell. If they
    pass, and the lesson's exercise.py is as it was at the beginning, they are saved there.

    Raises `InputError` if the functions are from several cells, or if there is no text of them.
    """
    lesson = find_lesson(number)
    cell = definitions(text_of_cell(functions))
    text = completed(cell, lesson)
    missing = unwritten(text, lesson.blank)
    if missing == lesson.blank:
        return CellGrade([NOTHING_YET.format(" and ".join(missing))])
    results = run_checks(lesson, text)
    points = sum(result.score for result in results)
    lines = list(lines_of_results(lesson, results, len(cell.splitlines())))
    lines.append(f"{points} of {lesson.points} points")
    passed = points == lesson.points
    if passed:
        lines.append(save(lesson, text, results))
    return CellGrade(lines, pictures_of(results), passed)


NOTHING_YET = (
    "Still to write: {}.\n"
    "Put your lines in the place of `raise NotImplementedError`, run that cell, and this one again."
)


# ---------------------------------------------------------------- from a cell to a file


def text_of_cell(functions: Sequence[Callable]) -> str:
    """The whole text of the one cell that all these functions stand in."""
    files = {python_function(function).__code__.co_filename for function in functions}
    if len(files) != 1:
        raise InputError("write all functions of a lesson in one cell, and run that cell again")
    text = "".join(linecache.getlines(files.pop()))
    if not text:
        raise InputError("the text of the cell cannot be found: run it again, without a %%magic")
    return text


def definitions(text: str) -> str:
    """The text with all but imports, functions and assignments left empty: no line moves."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, DEFINITIONS) or is_magic(node):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines) + "\n"


def is_magic(node: ast.stmt) -> bool:
    """Whether it is `name = %something`, which only a notebook understands."""
    return any(isinstance(n, ast.Name) and n.id == "get_ipython" for n in ast.walk(node))


def completed(text: str, lesson: Lesson) -> str:
    """The text, and below it those functions of the lesson's exercise.py that it lacks."""
    given = SourceFile(exercise_text(lesson), None)
    here = SourceFile(text, None)
    added = [node for name, node in given.functions.items() if name not in here.functions]
    used = set().union(*map(names_in, added)) - set(here.imports)
    imports = import_lines({given.imports[name] for name in used & set(given.imports)})
    parts = [text.rstrip(), imports, *map(given.text_of, added)]
    return "\n\n\n".join(part for part in parts if part) + "\n"


# ---------------------------------------------------------------- checking


def run_checks(lesson: Lesson, text: str) -> list[Result]:
    submission = Submission(lesson.exercise, text.encode("utf-8"))
    functions, workers, seed = checks_of(lesson), WorkerPool(), secrets.randbits(32)
    try:
        return [
            run_check(functions[check.name], lesson, check, submission, workers, seed)
            for check in lesson.checks
        ]
    finally:
        workers.stop()


def lines_of_results(lesson: Lesson, results: Sequence[Result], length: int) -> Iterator[str]:
    """What a notebook says; length: lines of the cell. What stands below them is not the cell's."""

    def place(found: re.Match) -> str:
        return f"line {found[1]} of your cell: " if int(found[1]) <= length else ""

    yield f"Lesson {lesson.number}: {lesson.title}"
    for check, result in zip(lesson.checks, results, strict=True):
        message = re.sub(r"exercise\.py, line (\d+): ", place, result.message)
        message = re.sub(r"python -m lessons (hint \d+)", r'course("\1")', message)
        yield from lines_of(result._replace(message=message), check)


def pictures_of(results: Sequence[Result]) -> list[Path]:
    """The picture of each check that failed and has one."""
    lines = [line for result in results for line in result.message.splitlines()]
    return [ROOT / line.removeprefix(PICTURE) for line in lines if line.startswith(PICTURE)]


def save(lesson: Lesson, text: str, results: Sequence[Result]) -> str:
    """Keep what has passed as exercise.py, unless there is work in it. Returns what was done."""
    path = lesson.exercise
    name = path.relative_to(ROOT)
    if path.exists():
        written = path.read_text(encoding="utf-8")
        if written != text and unwritten(written, lesson.blank) != lesson.blank:
            return f"{name} holds other work of yours, and is left as it is"
    try:
        write_atomically(path, lambda file: file.write(text.encode("utf-8")))
    except InputError as error:
        return f"not saved: {error}"
    CourseProgress().record(lesson, {result.check: result.score for result in results})
    return f"saved as {name}; python -m lessons goes on from there"
