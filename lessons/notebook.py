"""The course in a notebook, as in `start_here.ipynb`: check what stands in a cell.

The text of that cell is what is graded, as if it were the lesson's exercise.py.
"""

import base64
import html
import linecache
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError
from lessons.__main__ import lines_of, main
from lessons.course.cells import completed, definitions
from lessons.course.exercises import unwritten
from lessons.course.lesson import ROOT, Lesson, find_lesson
from lessons.course.progress import CourseProgress
from lessons.course.source_text import source_lines
from lessons.grading.judge.result import Result
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission
from lessons.lab.source import python_function

PICTURE, REPLAY = "picture: ", "replay: "


def course(command: str = "") -> None:
    """What `python -m lessons COMMAND` does in a terminal, such as course("hint 1")."""
    main(command.split())


class CellGrade:
    """What a cell's functions got; a notebook shows it, with pictures and replays of failures."""

    def __init__(
        self,
        lines: list[str],
        pictures: Sequence[Path] = (),
        passed: bool = False,
        replays: Sequence[Path] = (),
    ):
        self.lines = lines
        self.pictures = pictures
        self.replays = replays
        self.passed = passed

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        parts = [f"<pre>{html.escape(repr(self))}</pre>"]
        for path in self.pictures:
            content = base64.b64encode(path.read_bytes()).decode()
            parts.append(f'<img style="max-width: 100%" src="data:image/png;base64,{content}">')
        parts += [link_to_replay(path) for path in self.replays]
        return "\n".join(parts)


def link_to_replay(path: Path) -> str:
    """HTML: a link from a notebook, whose folder is the current one."""
    address = quote(Path(os.path.relpath(path)).as_posix())
    return (
        f'<p><a href="{html.escape(address)}" target="_blank">{html.escape(path.stem)}, step by '
        f"step</a>: a replay of the run. If your notebook does not show it, open this file in a "
        f"browser: <code>{html.escape(str(path))}</code></p>"
    )


def check_cell(number: int | str, *functions: Callable) -> CellGrade:
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
    lines = list(lines_of_results(lesson, results, len(source_lines(cell))))
    lines.append(f"{points} of {lesson.points} points")
    passed = points == lesson.points
    if passed:
        lines.append(save(lesson, text, results))
    pictures, replays = (files_of(results, kind) for kind in (PICTURE, REPLAY))
    return CellGrade(lines, pictures, passed, replays)


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


# ---------------------------------------------------------------- checking


def run_checks(lesson: Lesson, text: str) -> list[Result]:
    submission = Submission(lesson.exercise, text.encode("utf-8"))
    functions, seed = checks_of(lesson), secrets.randbits(32)
    results: list[Result] = []
    with WorkerPool() as workers:
        for check in lesson.checks:
            function = functions[check.name]
            results.append(
                run_check(function, lesson, check, submission, workers, seed, before=results)
            )
    return results


def lines_of_results(lesson: Lesson, results: Sequence[Result], length: int) -> Iterator[str]:
    """What a notebook says; length: lines of the cell. What stands below them is not the cell's."""

    def place(found: re.Match) -> str:
        return f"line {found[1]} of your cell: " if int(found[1]) <= length else ""

    yield f"Lesson {lesson.number}: {lesson.title}"
    for check, result in zip(lesson.checks, results, strict=True):
        message = re.sub(r"exercise\.py, line (\d+): ", place, result.message)
        message = re.sub(r"python -m lessons (hint \d+)", r'course("\1")', message)
        yield from lines_of(result._replace(message=message), check)


def files_of(results: Sequence[Result], kind: str) -> list[Path]:
    """The picture, or the replay, of each check that failed and has one."""
    lines = [line for result in results for line in result.message.splitlines()]
    return [ROOT / line.removeprefix(kind) for line in lines if line.startswith(kind)]


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
