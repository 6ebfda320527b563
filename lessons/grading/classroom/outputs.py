"""Every file that a grading leaves behind: per student, and for the class, with tables as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.lesson import Lesson
from lessons.grading.classroom.exports import write_exports
from lessons.grading.classroom.gradebook import Grade
from lessons.grading.classroom.journal import JOURNAL, Run, is_journal
from lessons.grading.classroom.pages import student_page, summary, write_page
from lessons.grading.classroom.similarity import Pair, similar_pairs
from lessons.grading.worker.text import printable

SUMMARY = "summary.html"
CSV_FILES = "grades.csv", "checks.csv", "canvas.csv", "moodle.csv"
CLASS_FILES = (SUMMARY, "similarity.csv", *CSV_FILES)
STUDENTS = "students"  # folder with a folder per student
# How a cell begins that a spreadsheet would compute; also with Asian keyboards' wide signs.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")

Cell = str | int | float


def refuse_foreign(out: Path, overwrite: bool) -> None:
    """Raise `InputError` if a folder without a journal holds what a grading would replace.

    overwrite: remove a journal that is none; nothing else needs to be said.
    """
    if is_journal(out / JOURNAL):
        return
    foreign = [name for name in (JOURNAL, *CLASS_FILES, STUDENTS) if (out / name).exists()]
    if foreign and not overwrite:
        raise InputError(
            f"{out} holds {foreign[0]}, which no grading has made: give another --out, or add "
            "--overwrite to replace it"
        )
    (out / JOURNAL).unlink(missing_ok=True)


def folder_of(out: Path, student_folder: str) -> Path:
    return out / STUDENTS / student_folder


def pictures_in(out: Path, student_folder: str) -> Path:
    return folder_of(out, student_folder) / "pictures"


def write_student(out: Path, grade: Grade, lessons: Sequence[Lesson], run: Run) -> None:
    """The page and the exports of one student. Raises `InputError` if they cannot be written."""
    folder = folder_of(out, grade.folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = pictures_in(out, grade.folder)
    write_page(folder / "index.html", student_page(grade, lessons, pictures, run))
    write_exports(folder, grade, run)


def write_class(out: Path, grades: Sequence[Grade], lessons: Sequence[Lesson], run: Run) -> None:
    """The tables and the summary. Raises `InputError` if they cannot be written."""
    pairs = similar_pairs([grade.handed for grade in grades], lessons, diagnoses_of(grades))
    tables = (
        grades_table(grades, lessons), checks_table(grades), canvas_table(grades, lessons),
        moodle_table(grades, lessons),
    )  # fmt: skip
    for name, table in zip(CSV_FILES, tables, strict=True):
        write_table(out / name, table)
    write_table(out / "similarity.csv", [Pair._fields, *pairs])
    write_page(out / SUMMARY, summary(grades, lessons, pairs, run, partial(pictures_in, out)))


def diagnoses_of(grades: Sequence[Grade]) -> dict[tuple[str, str], dict[str, str]]:
    """(student, lesson) -> check -> diagnosis, of the checks that failed."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for grade in grades:
        for row in grade.rows:
            if row.diagnosis:
                key = grade.handed.student, row.lesson
                found.setdefault(key, {})[row.check] = row.diagnosis
    return found


# ---------------------------------------------------------------- tables


def grades_table(grades: Sequence[Grade], lessons: Sequence[Lesson]) -> Iterable[Sequence[Cell]]:
    names = [lesson.name for lesson in lessons]
    yield ["student", *names, "points", "after_late_days", "of", "state", "notes"]
    for grade in grades:
        scores = [grade.scores[name] for name in names]
        state = "graded" if grade.finished else "unfinished"
        notes = grade.handed.notes + [
            f"{name}, {line}" for name, lines in grade.remarks.items() for line in lines
        ]
        yield [
            grade.handed.student, *scores, sum(scores), grade.total, grade.max_total, state,
            "; ".join(notes),
        ]  # fmt: skip


def checks_table(grades: Sequence[Grade]) -> Iterable[Sequence[Cell]]:
    yield ["student", "lesson", "check", "score", "of", "status", "diagnosis", "seconds"]
    for grade in grades:
        for row in grade.rows:
            yield [
                grade.handed.student, row.lesson, row.check, row.score, row.max_score, row.status,
                row.diagnosis, row.seconds,
            ]  # fmt: skip


def canvas_table(grades: Sequence[Grade], lessons: Sequence[Lesson]) -> Iterable[Sequence[Cell]]:
    """As Canvas imports grades: five columns that name the student, then one per assignment."""
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles(lessons)]
    yield ["    Points Possible", "", "", "", "", *(lesson.points for lesson in lessons)]
    for grade in grades:
        who = grade.student
        yield [
            who.full_name or who.name, who.id, "", who.login or who.name, who.section,
            *grade.after_lateness.values(),
        ]  # fmt: skip


def moodle_table(grades: Sequence[Grade], lessons: Sequence[Lesson]) -> Iterable[Sequence[Cell]]:
    """For Moodle's import of grades, where each column is mapped to what it is."""
    names = ["ID number", "Full name", "Email address"]
    yield [*names, *titles(lessons), "Total", "Feedback comments"]
    for grade in grades:
        who = grade.student
        failed = [f"{row.lesson} {row.check}: {row.diagnosis or row.status}" for row in grade.rows
                  if row.status != "passed"]  # fmt: skip
        yield [
            who.id or who.name, who.full_name or who.name, who.email,
            *grade.after_lateness.values(), grade.total, "; ".join(failed),
        ]  # fmt: skip


def titles(lessons: Sequence[Lesson]) -> list[str]:
    return [f"Lesson {lesson.number}: {lesson.title.partition(':')[0]}" for lesson in lessons]


def write_table(path: Path, rows: Iterable[Sequence[Cell]]) -> None:
    """Write a table whole, or not at all. Raises `InputError` if it cannot be written."""
    text = io.StringIO(newline="")
    # In quotes, so that ";" separates nothing, either: in some countries it does.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    for row in rows:
        writer.writerow([harmless(cell) for cell in row])
    # A mark, so that Excel takes it for UTF-8.
    content = text.getvalue().encode("utf-8-sig", "replace")
    write_atomically(path, lambda file: file.write(content))


def harmless(cell: Cell) -> Cell:
    """The cell as text of one line, with a quote before what would be taken for a formula."""
    if not isinstance(cell, str):
        return cell
    text = printable(cell.replace("\n", " ").replace("\t", " "))
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
