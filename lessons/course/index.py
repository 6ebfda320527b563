"""The rows of `python -m lessons`: where a student is in each lesson, and what it builds on."""

from collections.abc import Iterator, Sequence

from lessons.course.earlier import is_given
from lessons.course.exercises import kernels_of, unwritten
from lessons.course.lesson import PARTS, Lesson
from lessons.course.progress import CourseProgress
from lessons.course.source_text import text_of

TITLE_WIDTH = 22
MOST_NAMES = 4  # of functions, in a row


def rows_of_part(
    part: Sequence[Lesson], progress: CourseProgress, current: Lesson
) -> Iterator[str]:
    """A row per lesson of a part of the course, and what the part has come to."""
    for lesson in part:
        is_next = lesson is current and not is_behind(lesson, progress)
        yield f"{'->' if is_next else '  '} {row_of(lesson, progress)}"
    got = sum(progress.points(lesson) for lesson in part)
    given = sum(is_given(lesson) for lesson in part)
    hours = sum(lesson.hours for lesson in part if not is_behind(lesson, progress))
    left = f"; about {hours:g} hours are left" if hours else ""
    others = f", and {given} lessons are given" if given else ""
    name = PARTS[part[0].part]
    yield f"{name}: {got} of {sum(lesson.points for lesson in part)} points{others}{left}"


def is_behind(lesson: Lesson, progress: CourseProgress) -> bool:
    """Whether a student need not write it, or not any more."""
    return progress.is_done(lesson) or is_given(lesson)


def row_of(lesson: Lesson, progress: CourseProgress) -> str:
    points = f"{progress.points(lesson):2} of {lesson.points}"
    name = lesson.title.partition(":")[0]
    needs = f" (needs {', '.join(lesson.builds_on)})" if lesson.builds_on else ""
    what = f"{name:<{TITLE_WIDTH}} {first_of(kernels_of(lesson))}{needs}"
    return f"{lesson.number:>2}  {points}  {lesson.hours:>3g} h  {what}{note_on(lesson, progress)}"


def first_of(names: Sequence[str]) -> str:
    """The names; of many only the first, with a word about the rest."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    first = names[: MOST_NAMES - 1]
    return f"{', '.join(first)} and {len(names) - len(first)} more"


def note_on(lesson: Lesson, progress: CourseProgress) -> str:
    """What there is to say about a lesson besides its points; "" if nothing."""
    if is_given(lesson) and not progress.is_done(lesson):
        return "  (given, in solutions)"
    if not lesson.exercise.exists():
        return f"  (exercise.py is missing: python -m lessons reset {lesson.number})"
    if progress.scores(lesson) and not progress.is_current(lesson):
        return "  (changed since it was checked)"
    missing = unwritten(text_of(lesson.exercise), lesson.blank)
    if missing and len(missing) < len(lesson.blank):
        return f"  (to write: {', '.join(missing)})"
    return ""
