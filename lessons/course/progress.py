"""What a student has reached so far: one small file beside the lessons, never graded or shared."""

import json

from kernels.errors import InputError
from kernels.files.atomic import write_atomically
from lessons.course.lesson import LESSONS, digest

PROGRESS = LESSONS / ".progress.json"


class Progress:
    """Points of the last grading of each lesson, and how many hints were given.

    path: the file. Raises `InputError` if it holds something else.
    """

    def __init__(self, path=None):
        self.path = path or PROGRESS
        self.content = {"grades": {}, "hints": {}}
        if not self.path.exists():
            return
        try:
            self.content.update(json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.path} cannot be read ({error}); delete it to begin anew"
            ) from None

    def save(self):
        text = json.dumps(self.content, indent=1) + "\n"
        write_atomically(self.path, lambda file: file.write(text.encode("utf-8")))

    def record(self, lesson, results):
        """Keep the points of a grading, and of which file they are."""
        self.content["grades"][lesson.name] = {
            "file": digest(lesson.exercise),
            "checks": {result.check: result.score for result in results},
        }
        self.save()

    def scores(self, lesson):
        """check -> points at the last grading; {} if there was none."""
        return self.content["grades"].get(lesson.name, {}).get("checks", {})

    def points(self, lesson):
        return sum(self.scores(lesson).values())

    def is_current(self, lesson):
        """Whether exercise.py is still the file that was graded."""
        graded = self.content["grades"].get(lesson.name, {})
        return graded.get("file") == digest(lesson.exercise)

    def is_done(self, lesson):
        return self.points(lesson) == lesson.points

    def next_lesson(self, lessons):
        """The first lesson that is not done; the last one if all are."""
        for lesson in lessons:
            if not self.is_done(lesson):
                return lesson
        return lessons[-1]

    def next_hint(self, lesson, check):
        """Number of the hint to give now, from 1; the last one comes again and again."""
        given = self.content["hints"].setdefault(lesson.name, {})
        number = min(given.get(check.name, 0) + 1, len(check.hints))
        given[check.name] = number
        self.save()
        return number
