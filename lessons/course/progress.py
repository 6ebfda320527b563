"""What a student has reached so far: one small file beside the lessons, never graded or shared."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.earlier import is_given
from lessons.course.lesson import LESSONS, Check, Lesson, digest

PROGRESS = LESSONS / ".progress.json"
MOST = 1e300  # that somebody predicts
Predictions = dict[str, dict[str, list[list[float]]]]  # lesson -> check -> [guess, count], ...


class CourseProgress:
    """Points of the last grading of each lesson, and how many hints were given.

    path: the file. Raises `InputError` if it holds something else.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or PROGRESS
        self.content: dict[str, dict[str, Any]] = {"grades": {}, "hints": {}, "predictions": {}}
        if not self.path.exists():
            return
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            require_progress(found)
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(
                f"{self.path} cannot be read ({error}); give it another name to begin anew"
            ) from None
        self.content.update(found)

    def save(self) -> None:
        """Write the file. Where that cannot be, say so and go on: no grade depends on it."""
        text = json.dumps(self.content, indent=1) + "\n"
        try:
            write_atomically(self.path, lambda file: file.write(text.encode("utf-8")))
        except InputError:
            print(f"your progress is not kept: cannot write {self.path}", file=sys.stderr)

    # ---------------------------------------------------------------- points

    def record(self, lesson: Lesson, scores: Mapping[str, int]) -> None:
        """Keep the points of a grading, and of which file they are. scores: check -> points."""
        self.content["grades"][lesson.name] = {
            "file": digest(lesson.exercise),
            "checks": dict(scores),
        }
        self.save()

    def scores(self, lesson: Lesson) -> dict[str, int]:
        """check -> points at the last grading; {} if there was none."""
        return self.content["grades"].get(lesson.name, {}).get("checks", {})

    def points(self, lesson: Lesson) -> int:
        return sum(self.scores(lesson).values())

    def is_current(self, lesson: Lesson) -> bool:
        """Whether exercise.py is still the file that was graded."""
        graded = self.content["grades"].get(lesson.name, {})
        return graded.get("file") == digest(lesson.exercise)

    def is_done(self, lesson: Lesson) -> bool:
        return self.points(lesson) == lesson.points

    # ---------------------------------------------------------------- predictions

    def predict(
        self, lesson: Lesson, check: Check, guess: float, counted: float | None = None
    ) -> None:
        """Keep what was expected; and, once it is known, what was counted."""
        table = self.content["predictions"].setdefault(lesson.name, {}).setdefault(check.name, [])
        if counted is None:
            table.append([guess])
        else:
            table[-1] = [guess, counted]
        self.save()

    # ---------------------------------------------------------------- what to do next

    def next_lesson(self, lessons: Sequence[Lesson]) -> Lesson:
        """The first lesson that is neither done nor given; the last one if all are."""
        for lesson in lessons:
            if not self.is_done(lesson) and not is_given(lesson):
                return lesson
        return lessons[-1]

    def next_check(self, lesson: Lesson) -> Check | None:
        """The first check of a lesson that did not get all its points; None if all did."""
        scores = self.scores(lesson)
        for check in lesson.checks:
            if scores.get(check.name, 0) < check.points:
                return check
        return None

    def next_hint(self, lesson: Lesson, check: Check) -> int:
        """Number of the hint to give now, from 1; the last one comes again and again."""
        given = self.content["hints"].setdefault(lesson.name, {})
        number = min(given.get(check.name, 0) + 1, len(check.hints))
        given[check.name] = number
        self.save()
        return number


def require_progress(content: Any) -> None:
    """Raise ValueError unless this is what `CourseProgress.save` writes; people edit files."""
    try:
        grades, hints = content.get("grades", {}), content.get("hints", {})
        points = [grade.get("checks", {}) for grade in grades.values()]
        said = [one for lesson in content.get("predictions", {}).values()
                for table in lesson.values() for pair in table for one in pair]  # fmt: skip
        numbers = [number for table in (*points, *hints.values()) for number in table.values()]
    except (AttributeError, TypeError):
        raise ValueError("it is not the table that was written") from None
    if not all(type(one) in (int, float) and 0 <= one < MOST for one in said):
        raise ValueError("predictions are lists of numbers from 0")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("points and hints are numbers from 0")


def factor(guess: float, counted: float) -> float:
    """How far off a prediction is, in either direction: 1 is right; of 0, only 0 is."""
    least, most = sorted((guess, counted))
    return most / least if least else 1.0 if most == least else math.inf
