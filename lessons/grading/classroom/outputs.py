"""Every file that a grading leaves behind: per student, and for the class."""

from collections.abc import Sequence
from pathlib import Path

from kernels.plumbing.errors import InputError
from lessons.course.lesson import Lesson
from lessons.grading.classroom.csv_files import CSV_FILES, write_csv_files, write_table
from lessons.grading.classroom.exports import write_exports
from lessons.grading.classroom.gradebook import Grade
from lessons.grading.classroom.journal import JOURNAL, Run, is_journal
from lessons.grading.classroom.pages import write_student_page, write_summary
from lessons.grading.classroom.similarity import Pair, similar_pairs

SUMMARY = "summary.html"
CLASS_FILES = (SUMMARY, "similarity.csv", *CSV_FILES)
STUDENTS = "students"  # folder with a folder per student


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
    write_student_page(folder / "index.html", grade, lessons, pictures, run)
    write_exports(folder, grade, run)


def write_class(out: Path, grades: Sequence[Grade], lessons: Sequence[Lesson], run: Run) -> None:
    """The tables and the summary. Raises `InputError` if they cannot be written."""
    pairs = similar_pairs([grade.handed for grade in grades], lessons, diagnoses_of(grades))
    write_csv_files(out, grades, lessons)
    write_table(out / "similarity.csv", [Pair._fields, *pairs])
    write_summary(out / SUMMARY, grades, lessons, pairs, run)


def diagnoses_of(grades: Sequence[Grade]) -> dict[tuple[str, str], dict[str, str]]:
    """(student, lesson) -> check -> diagnosis, of the checks that failed."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for grade in grades:
        for row in grade.rows:
            if row.diagnosis:
                key = grade.handed.student, row.lesson
                found.setdefault(key, {})[row.check] = row.diagnosis
    return found
