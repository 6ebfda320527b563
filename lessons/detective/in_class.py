"""`python -m lessons grade SUBMISSIONS --cases 5`: grade the cases that a class has handed in.

A student's case follows from the lesson (or level), the folder's name, and the teacher's secret:
nothing that is handed in decides which case it is.
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
from lessons.grading.classroom.intake import entries_of
from lessons.grading.classroom.outputs import write_table
from lessons.grading.classroom.sources import items_of
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.worker.text import one_line

TABLE, MARK = "cases.csv", '"witness","mend"'  # which every table of ours begins with
FORM = """
# Your answers. The lines are numbered as in case.txt; the kind is one of
# {kinds}.
# A witness is {how}.
# line:
# kind:
# witness:
"""
ANSWER = re.compile(r"^#\s*(line|kind|witness)\s*:(.*)$", re.MULTILINE | re.IGNORECASE)


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
    add = parser.add_argument
    cases = "grade cases, of a lesson such as 5, or level-1 to level-4 (default: exercises)"
    add("--cases", metavar="WHICH", help=cases)
    add("--secret", metavar="WORD", help="with --cases: the word of their hand-out (default: none)")


def grade(options: Namespace) -> int:
    """The command; returns 0. Raises `InputError` if the table is not one of ours."""
    folder = Path(options.submissions)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give one with a folder per student")
    lesson, level = which(options.cases)
    out = make_output_folder(options.out)
    with locked(out), WorkerPool() as workers:
        there = (out / TABLE).read_text("utf-8", "replace") if (out / TABLE).exists() else MARK
        if MARK not in there[:99]:
            raise InputError(f"{out / TABLE} was made by something else: give another --out")
        rows = []
        for path in entries_of(folder):
            if path.name.startswith(".") or path.resolve() == out.resolve():
                continue
            student = path.name if path.is_dir() else path.stem
            try:
                case = make_case(secret_seed(student, options.secret), lesson, level)
                rows.append(row_of(student, case, path, workers))
            except InputError as error:
                rows.append(Row(student, note=str(error)))
            told = f"{rows[-1].points} of {sum(POINTS.values())} points; {rows[-1].note}"
            print(one_line(f"{student}: {told.removesuffix('; ')}"))
        write_table(out / TABLE, [Row._fields, *rows])
    print(f"{len(rows)} cases: {out / TABLE}")
    return 0


def which(text: str) -> tuple[str | None, int | None]:
    """(lesson, level) of "5" or "level-2". Raises `InputError` for another text."""
    levels = {f"level-{level}": level for level in LEVELS}
    if text.startswith("level-") and text not in levels:
        raise InputError(f"--cases {text}: levels are level-1 to level-{max(LEVELS)}")
    return (None, levels[text]) if text in levels else (find_lesson(text).number, None)


def row_of(student: str, case: Case, path: Path, workers: WorkerPool) -> Row:
    """The points of one student; whatever is handed in costs that student alone."""
    texts = [as_utf8(item.content) for item in items_of(path) if item.content]
    texts = [text for text in texts if ANSWER.search(text.decode("utf-8", "replace"))]
    if len(texts) != 1:
        return Row(student, note=f"{len(texts)} files with answers: one case.py is expected")
    text = texts[0].decode("utf-8", "replace")
    if case.launch not in text:
        note = f"no file of this student's case: there is no {case.launch}"
        return Row(student, note=f"{note}. Is it another one's, or another --secret?")
    given = {part.lower(): said for part, said in ANSWER.findall(text)}
    points, notes = dict.fromkeys(POINTS, 0), []
    for part in ("line", "kind", "witness"):
        try:
            if not given.get(part, "").strip():
                raise InputError("no answer")
            points[part] = POINTS[part] * named(case, part, given[part])[0]
        except InputError as error:
            notes.append(f"{part}: {error}")
    result = mended(case, texts[0], Path("case.py"), workers)
    if result.status == "passed":
        points["mend"] = POINTS["mend"]
    else:
        notes.append(f"mended: {result.diagnosis}")
    return Row(student, **points, points=sum(points.values()), note="; ".join(notes))
