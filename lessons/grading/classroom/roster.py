"""Who is in a class, and who was late: a TOML file of the instructor's (see lessons/GRADING.md)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kernels.plumbing.errors import InputError
from lessons.course.lesson import Lesson, tomllib


class Student(NamedTuple):
    """An entry of the roster. All but the name may be missing."""

    name: str  # as the submission is called
    full_name: str = ""
    id: str = ""
    login: str = ""
    email: str = ""
    section: str = ""
    late: dict[str, int] = {}  # noqa: RUF012  # nobody changes it; name of a lesson -> days late


class Roster(NamedTuple):
    students: tuple[Student, ...]  # () without a roster
    late_days: int = 0  # that each student may be late in all, without loss
    lost_per_late_day: float = 0.0  # share of a lesson's points, for each day beyond these

    def student(self, name: str, id: str = "") -> Student:
        """The entry of who has this number, else of who has this name; else one of its own."""
        by_id = [one for one in self.students if id and one.id == id]
        by_name = [one for one in self.students if one.name == name]
        found = by_id or by_name
        return found[0] if len(found) == 1 else Student(name)

    def label(self, student: Student) -> str:
        """The name, with the number behind it if another one has this name."""
        alone = sum(one.name == student.name for one in self.students) == 1
        return student.name if alone else f"{student.name} ({student.id})"

    def after_lateness(self, late: Mapping[str, int], scores: dict[str, int]) -> dict[str, float]:
        """The points of each lesson less what is lost for days late; free days go in order."""
        free = self.late_days
        left = {}
        for lesson, score in scores.items():
            days = late.get(lesson, 0)
            used = min(free, days)
            free -= used
            share = max(0.0, 1.0 - self.lost_per_late_day * (days - used))
            left[lesson] = round(score * share, 2)
        return left


def read_roster(path: Path | None, lessons: Sequence[Lesson]) -> Roster:
    """The roster of a file; an empty one for None. Raises `InputError` if it cannot be used."""
    if path is None:
        return Roster(())
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        students = [student_in(entry, lessons) for entry in content.get("student", [])]
        roster = Roster(
            tuple(students),
            int(content.get("late_days", 0)),
            float(content.get("lost_per_late_day", 0.0)),
        )
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"the roster {path} cannot be used: {error}") from None
    if len({(student.name, student.id) for student in students}) < len(students):
        raise InputError(f"the roster {path} names a student twice")
    if roster.late_days < 0 or not 0 <= roster.lost_per_late_day <= 1:
        raise InputError(f"{path}: late_days is 0 or more, lost_per_late_day from 0 to 1")
    return roster


def student_in(entry: dict[str, Any], lessons: Sequence[Lesson]) -> Student:
    unknown = set(entry) - set(Student._fields)
    if unknown:
        raise ValueError(f"{unknown.pop()!r} is none of {', '.join(Student._fields)}")
    if not entry.get("name"):
        raise ValueError("a student has no name")
    late = entry.get("late", {})
    names = {lesson.name for lesson in lessons}
    for lesson, days in late.items():
        if lesson not in names or type(days) is not int or days < 0:
            raise ValueError(
                f"late of {entry['name']}: {lesson} = {days!r}; write a lesson's name, such as "
                '"04_encode", and the days, from 0'
            )
    texts = {key: str(value) for key, value in entry.items() if key != "late"}
    return Student(**texts, late=dict(late))
