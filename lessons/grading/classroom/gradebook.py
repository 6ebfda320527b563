"""The rows of a class as grades: points per student and lesson, and what days late cost."""

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from lessons.course.lesson import Lesson
from lessons.grading.classroom.intake import Handed
from lessons.grading.classroom.journal import Journal
from lessons.grading.classroom.roster import Roster, Student
from lessons.grading.judge.result import LEFT_OUT, NOT_UNDERSTOOD, Result
from lessons.grading.report import all_results
from lessons.grading.walls.fingerprint import remarks_on
from lessons.grading.walls.submission import Submission

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names on Windows

ABSENT = ["nothing was handed in"]
OF_THIS_MACHINE = ("picture: ", "replay: ", "stuck? ")  # how lines of a message begin


class Grade(NamedTuple):
    """All about one student's grade."""

    student: Student
    handed: Handed
    folder: str  # of the student's own files, in `students/`
    rows: list[Result]  # one per check of the lessons that were asked for
    scores: dict[str, int]  # name of a lesson -> points
    after_lateness: dict[str, float]
    remarks: dict[str, list[str]]  # name of a lesson -> lines that a person should read
    finished: bool  # whether every check has run

    @property
    def total(self) -> float:
        return round(sum(self.after_lateness.values()), 2)

    @property
    def digests(self) -> dict[str, str]:
        """Name of a graded file -> SHA-256 of what was graded."""
        return {str(file.path): file.digest for file in self.handed.files.values()}

    @property
    def max_total(self) -> int:
        return sum(row.max_score for row in self.rows)


def without_places(message: str) -> str:
    """A message without the lines that are of use only where the check has run."""
    lines = [line for line in message.splitlines() if not line.startswith(OF_THIS_MACHINE)]
    return "\n".join(lines)


def gradebook(
    class_: Sequence[Handed], lessons: Sequence[Lesson], journal: Journal, roster: Roster
) -> list[Grade]:
    """The grades so far, also of the roster's students who handed in nothing."""
    present = {roster.student(handed.student, handed.id)[:3] for handed in class_}
    absent = [one for one in roster.students if one[:3] not in present]
    everybody = [*class_, *sorted(Handed(roster.label(one), {}, ABSENT, one.id) for one in absent)]
    folders = folders_of([handed.student for handed in everybody])
    return [
        grade_of(handed, lessons, journal, roster, folders[handed.student]) for handed in everybody
    ]


def grade_of(
    handed: Handed, lessons: Sequence[Lesson], journal: Journal, roster: Roster, folder: str
) -> Grade:
    files = {name: file.digest for name, file in handed.files.items()}
    done = [
        row
        for (student, lesson, _), (file, row) in list(journal.rows.items())
        if student == handed.student and lesson in files and file == files[lesson]
    ]
    rows = all_results(lessons, done, lambda lesson, _: not_run(handed, lesson))
    scores = {
        lesson.name: sum(row.score for row in rows if row.lesson == lesson.name)
        for lesson in lessons
    }
    remarks = {
        lesson.name: lines
        for lesson in lessons
        if (file := handed.files.get(lesson.name))
        if (lines := lines_to_read(file, lesson, rows))
    }
    student = roster.student(handed.student, handed.id)
    late = roster.after_lateness(student.late, scores)
    known = {(row.lesson, row.check) for row in done}
    finished = all((row.lesson, row.check) in known for row in rows if row.lesson in handed.files)
    return Grade(student, handed, folder, rows, scores, late, remarks, finished)


def lines_to_read(file: Submission, lesson: Lesson, rows: Sequence[Result]) -> list[str]:
    """What a person should look at in a file, and in what came of it."""
    lines = remarks_on((file.text or b"").decode("utf-8", "replace"), lesson)
    for row in rows:
        if row.lesson != lesson.name:
            continue
        lines += [line for line in row.message.splitlines() if line.startswith(LEFT_OUT)]
        if row.diagnosis == NOT_UNDERSTOOD:
            lines.append(f"the check {row.check} could not make sense of what came back")
    return lines


def not_run(handed: Handed, lesson: str) -> tuple[str, str]:
    """(status, message) of a check without a row."""
    if lesson not in handed.files:
        return "failed", "there is no file for this lesson"
    return "error", "this check was not run: the grading ended before it"


def folders_of(students: Sequence[str]) -> dict[str, str]:
    """student -> a name for a folder, which every system can have, and no two share."""
    found: dict[str, str] = {}
    for student in students:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", student).strip("-.")[:60]
        taken = plain.lower() in {name.lower() for name in found.values()}
        if plain != student or taken or not plain or RESERVED.fullmatch(plain):
            digest = hashlib.sha256(student.encode("utf-8", "replace")).hexdigest()
            plain = f"{plain or 'student'}-{digest[:8]}"
        found[student] = plain
    return found
