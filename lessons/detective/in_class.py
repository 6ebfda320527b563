"""`python -m lessons grade SUBMISSIONS --cases 5`: grade the cases that a class has handed in.

A student's case follows from the lesson (or level), the name of the student's folder, and the
teacher's secret: nothing that is handed in decides which case it is.
"""

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import NamedTuple

from kernels.files.atomic import make_output_folder
from kernels.files.folder_lock import locked
from kernels.plumbing.errors import InputError
from lessons.course.lesson import find_lesson
from lessons.course.source_text import as_utf8
from lessons.detective.answers import POINTS, mended, named
from lessons.detective.cases import LEVELS, Case, make_case, secret_seed
from lessons.grading.classroom.outputs import write_table
from lessons.grading.classroom.sources import items_of
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.worker.text import one_line

TABLE = "cases.csv"
FORM = """
# Your answers. The lines are numbered as in case.txt; the kind is one of
# {kinds}.
# A witness is {how}.
# line:
# kind:
# witness:
"""
ANSWER = re.compile(r"^# (line|kind|witness):(.*)$", re.MULTILINE)


class Row(NamedTuple):
    student: str
    line: int = 0
    kind: int = 0
    witness: int = 0
    mend: int = 0
    points: int = 0
    note: str = ""


def add_options(parser: ArgumentParser) -> None:
    """What `grade` has more for cases."""
    cases = "grade cases, of a lesson such as 5, or level-1 to level-4 (default: exercises)"
    parser.add_argument("--cases", metavar="WHICH", help=cases)
    secret = "with --cases: the word with which they were handed out (default: none)"
    parser.add_argument("--secret", metavar="WORD", help=secret)


def grade(options: Namespace) -> int:
    """The command; returns 0. Raises `InputError` if the table is not one of ours."""
    folder = Path(options.submissions)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give one with a folder per student")
    lesson, level = which(options.cases)
    out = make_output_folder(options.out)
    with locked(out):
        require_own(out / TABLE)
        rows, workers = [], WorkerPool()
        try:
            for path in sorted(folder.iterdir()):
                student = path.name if path.is_dir() else path.stem
                case = make_case(secret_seed(student, options.secret), lesson, level)
                rows.append(row_of(student, case, path, workers))
                print(f"{one_line(student)}: {rows[-1].points} of {sum(POINTS.values())} points")
        finally:
            workers.stop()
        write_table(out / TABLE, [Row._fields, *rows])
    print(f"{len(rows)} cases: {out / TABLE}")
    return 0


def which(text: str) -> tuple[str | None, int | None]:
    """(lesson, level) of "5" or "level-2". Raises `InputError` for another text."""
    if text.startswith("level-"):
        if text.removeprefix("level-") not in map(str, LEVELS):
            raise InputError(f"--cases {text}: levels are level-1 to level-{max(LEVELS)}")
        return None, int(text.removeprefix("level-"))
    return find_lesson(text).number, None


def row_of(student: str, case: Case, path: Path, workers: WorkerPool) -> Row:
    """The points of one student; whatever is handed in costs that student alone."""
    texts = [as_utf8(item.content) for item in items_of(path) if item.content]
    texts = [text for text in texts if ANSWER.search(text.decode("utf-8", "replace"))]
    if len(texts) != 1:
        return Row(student, note=f"{len(texts)} files with answers: one case.py is expected")
    given = dict(ANSWER.findall(texts[0].decode("utf-8", "replace")))
    points = dict.fromkeys(POINTS, 0)
    note = ""
    try:
        line = given["line"].strip()
        answer = named(case, int(line) if line.isdigit() else 0, given["kind"], given["witness"])
        points |= {part: POINTS[part] for part, right in answer.right.items() if right}
    except (InputError, KeyError) as error:
        note = f"answers: {error}"
    result = mended(case, texts[0], Path("case.py"), workers)
    if result.status == "passed":
        points["mend"] = POINTS["mend"]
    else:
        note = "; ".join(filter(None, [note, f"mended: {result.diagnosis}"]))
    return Row(student, **points, points=sum(points.values()), note=note)


def require_own(path: Path) -> None:
    """Raises `InputError` if the table is there, and no such table."""
    if path.exists() and '"witness","mend"' not in path.read_text("utf-8", "replace")[:99]:
        raise InputError(f"{path} was made by something else: give another --out")
