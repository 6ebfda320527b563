"""What each student handed in: which file is for which lesson, and what cannot be told.

Nothing that is there is passed over in silence: what is not graded stands in the notes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kernels.plumbing.errors import InputError
from lessons.course.cells import completed
from lessons.course.exercises import unwritten
from lessons.course.lesson import LESSONS, Lesson
from lessons.course.source_text import source_text, syntax_tree
from lessons.grading.classroom.names import Owner, lesson_by_path, lessons_in, owner_of
from lessons.grading.classroom.notebooks import cells_of, is_exported, work_in
from lessons.grading.classroom.sources import Item, is_ignored, items_of
from lessons.grading.walls.submission import Submission
from lessons.grading.worker.text import one_line

MOST_NOTES = 40
SHOWN_FILES = 12  # in a note that says what is there
MAX_NAME = 1_000  # letters of a path; an archive can hold longer ones
BY_CONTENT = 3  # how far a name is from ours that says nothing; see `lesson_by_path`
# Folders and files of a copy of this project that hold no student's work.
OUR_FOLDERS = {"kernels", "tests", "benchmarks", "solutions"}
OUR_ROOMS = {"lab", "grading", "course", "capstones", "reference"}
OUR_FILES = {
    "__init__.py", "__main__.py", "conftest.py", "native_backend.py", "notebook.py", "picture.py",
    "reference.py", "start_here.ipynb", "train.py",
}  # fmt: skip


class Handed(NamedTuple):
    """What one student handed in."""

    student: str
    files: dict[str, Submission]  # name of a lesson -> its file; only lessons that have one
    notes: list[str]  # what a person should know: versions, wrong names, what was not read
    id: str = ""  # the platform's number of the student, if it gives one


class Candidate(NamedTuple):
    """A file that may be that of a lesson."""

    lesson: Lesson
    distance: int  # of its name from ours, see `lesson_by_path`
    path: str
    text: str
    note: str
    is_loose: bool = False  # beside a folder of the same student, see `one_of`

    @property
    def preference(self) -> tuple[bool, int, int, int, str]:
        """The smallest is graded: not loose, most written, best named, least deep."""
        missing = len(unwritten(self.text, self.lesson.blank))
        return self.is_loose, missing, self.distance, self.path.count("/"), self.path


def handed_in(
    folder: Path,
    lessons: Sequence[Lesson],
    single: bool = False,
    wanted: Sequence[Lesson] | None = None,
) -> list[Handed]:
    """What stands in a folder of submissions, by student, in the order of their names.

    lessons: all that a file may be for. single: the folder is the submission of one student.
    wanted: the lessons to grade; None for all. Raises `InputError` if there is nothing.
    """
    wanted = lessons if wanted is None else wanted
    if not folder.exists():
        raise InputError(f"there is no {folder}; name the folder with the submissions")
    entries = entries_of(folder)
    if not entries and not single:
        raise InputError(f"{folder} is empty: it should hold a folder or a zip per student")
    owners = [owner_of(entry, lessons) for entry in entries]
    if single or folder.is_file() or not any(owner.student for owner in owners):
        student = owner_of(folder, lessons).student or folder.stem
        return [sort_out(student, items_of(folder), lessons, wanted)]
    students = by_student(owners)
    return [one_of(student, students[student], lessons, wanted) for student in sorted(students)]


def by_student(owners: Sequence[Owner]) -> dict[str, list[Owner]]:
    """What belongs to whom. A student is who the platform's number says, and then the name.

    Of two students of one name, each has the number behind the name. What has that name and no
    number is a third one's: nobody can tell which of the two it is.
    """
    names = {owner.id: owner.student for owner in reversed(owners) if owner.id}
    of_one_name = Counter(names.values())
    students: dict[str, list[Owner]] = {}
    for owner in owners:
        name = names.get(owner.id, owner.student) or "(nobody)"
        label = f"{name} ({owner.id})" if owner.id and of_one_name[name] > 1 else name
        students.setdefault(label, []).append(owner)
    return students


def entries_of(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return [folder]
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}") from None
    return [path for path in found if not is_ignored(path.name)]


def one_of(
    student: str, owners: Sequence[Owner], lessons: Sequence[Lesson], wanted: Sequence[Lesson]
) -> Handed:
    """What one student handed in, perhaps in several files and folders.

    Anybody can call a file by a student's name. So a loose file counts only for a lesson for which
    there is nothing in the student's own folder, or under the platform's number.
    """
    alone = len(owners) == 1
    items = (
        item._replace(
            path=owner.file or (item.path if alone else f"{owner.path.name}/{item.path}"),
            is_loose=owner.is_loose and not all(one.is_loose for one in owners),
        )
        for owner in owners
        for item in items_of(owner.path)
    )
    handed = sort_out(student, items, lessons, wanted)
    late = [f"{owner.path.name}: its name says that it was late" for owner in owners if owner.late]
    id = next((owner.id for owner in owners if owner.id), "")
    return handed._replace(notes=late + handed.notes, id=id)


def sort_out(
    student: str, items: Iterable[Item], lessons: Sequence[Lesson], wanted: Sequence[Lesson]
) -> Handed:
    """Find the file of each wanted lesson among the files of one student.

    What this cannot bear costs that student, and no other; and it is told.
    """
    try:
        return files_of(student, items, lessons, wanted)
    except Exception as error:
        what = f"{type(error).__name__}: {one_line(str(error))}"
        return Handed(student, {}, [f"not read, by a mistake of the grader ({what})"])


def files_of(
    student: str, items: Iterable[Item], lessons: Sequence[Lesson], wanted: Sequence[Lesson]
) -> Handed:
    candidates: list[Candidate] = []
    notes: list[str] = []
    there: list[str] = []
    for item in items:
        if item.path:
            there.append(one_line(item.path))
        if item.reason:
            notes.append(": ".join(filter(None, [one_line(item.path), item.reason])))
        if item.content is None or is_ours(item.path):
            continue
        if len(item.path) > MAX_NAME:
            notes.append(f"{one_line(item.path)}: a name of {len(item.path):,} letters: not read")
            continue
        found, problem = candidates_of(item.path, item.content, lessons)
        candidates += [candidate._replace(is_loose=item.is_loose) for candidate in found]
        notes += [f"{one_line(item.path)}: {problem}"] if problem else []
    files = {}
    for lesson in wanted:
        mine = sorted(
            (c for c in candidates if c.lesson.name == lesson.name), key=lambda c: c.preference
        )
        if mine:
            best = mine[0]
            content = best.text.encode("utf-8", "replace")
            files[lesson.name] = Submission(Path(one_line(best.path)), content)
            notes += notes_on(lesson, mine)
    missing = [lesson for lesson in wanted if lesson.name not in files]
    return Handed(student, files, [*told_once(notes), *missing_note(missing, there)])


def told_once(notes: Sequence[str]) -> list[str]:
    """Equal notes as one, and of many different ones the first."""
    counts = Counter(notes)
    lines = [note if count == 1 else f"{note} ({count:,} times)" for note, count in counts.items()]
    more = [f"and {len(lines) - MOST_NOTES:,} more notes"] if len(lines) > MOST_NOTES else []
    return lines[:MOST_NOTES] + more


def candidates_of(
    path: str, content: bytes, lessons: Sequence[Lesson]
) -> tuple[list[Candidate], str]:
    """(candidates, why there is none or ""), for one file."""
    try:
        text, from_notebook = text_of(path, content)
    except ValueError as error:
        return [], str(error)
    named = lesson_by_path(path, lessons)
    held = lessons_in(text, lessons)
    note = "a notebook: its functions are graded, its experiments are not" if from_notebook else ""
    if named and (named[0] in held or syntax_tree(text) is None or not held):
        if not held and named[1] > 1 and syntax_tree(text) is not None:
            return [], ""  # some other file in a lesson's folder
        held, distance = [named[0]], named[1]
    elif held:
        distance = BY_CONTENT
        numbers = " and ".join(lesson.number for lesson in held)
        says = f"its name says lesson {named[0].number}" if named else "its name says no lesson"
        note = "; ".join(filter(None, [f"{says}, its functions are those of {numbers}", note]))
    else:
        return [], "no function that a lesson asks for: not graded"
    return [
        Candidate(lesson, distance, path, finished(text, lesson, from_notebook), note)
        for lesson in held
    ], ""


def text_of(path: str, content: bytes) -> tuple[str, bool]:
    """(text, whether it comes from a notebook) of a file. Raises ValueError if it has none."""
    if path.lower().endswith(".ipynb"):
        return work_in(cells_of(content)), True
    text = source_text(content)
    if is_exported(text):
        return work_in([text]), True
    return text, False


def finished(text: str, lesson: Lesson, from_notebook: bool) -> str:
    """The text to grade: a notebook has not what a lesson's file gives."""
    if not from_notebook or syntax_tree(text) is None:
        return text
    return completed(text, lesson)


def notes_on(lesson: Lesson, mine: Sequence[Candidate]) -> list[str]:
    """What to say of the files for one lesson, the one that is graded first."""
    best = mine[0]
    notes = [f"{one_line(best.path)}: {best.note}"] if best.note else []
    if best.distance == 1 and not best.note:
        notes.append(f"{one_line(best.path)}: taken for lesson {lesson.number}, {lesson.name}")
    if best.is_loose:
        notes.append(f"{one_line(best.path)}: a loose file beside a folder: is it this student's?")
    others = [
        one_line(other.path) + " (a loose file)" * other.is_loose
        for other in mine[1:]
        if other.text != best.text
    ]
    if others:
        notes.append(
            f"lesson {lesson.number}: {len(others) + 1} versions; graded is {one_line(best.path)}, "
            f"not {', '.join(others)}"
        )
    return notes


def missing_note(missing: Sequence[Lesson], there: Sequence[str]) -> list[str]:
    if not missing:
        return []
    names = ", ".join(lesson.name for lesson in missing)
    more = f" and {len(there) - SHOWN_FILES:,} more" if len(there) > SHOWN_FILES else ""
    what = ", ".join(there[:SHOWN_FILES]) + more if there else "nothing"
    return [f"no file for {names}; there is: {what}"]


def is_ours(path: str) -> bool:
    """Whether a file of a whole copy of the project is one that no student writes."""
    parts = PurePosixPath(path).parts
    if OUR_FOLDERS & set(parts[:-1]):
        return True
    if "lessons" not in parts[:-1]:
        return False
    rest = parts[parts.index("lessons") + 1 :]
    if rest[-1] == "exercise.py":
        return False
    by_name = rest[0] in OUR_ROOMS or rest[-1] in OUR_FILES or rest[-1].startswith("test_")
    return by_name or rest in our_lesson_files()


@cache
def our_lesson_files() -> frozenset[tuple[str, ...]]:
    """Parts of the path, from `lessons` on, of each file that is there."""
    return frozenset(path.relative_to(LESSONS).parts for path in LESSONS.rglob("*.py"))
