"""The functions of a student's own file, for our commands to run in place of ours.

They are loaded into this process, unlike those that are graded: a command runs what its own user
has written.
"""

import importlib
import importlib.util
import secrets
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tqdm import tqdm

from kernels.plumbing.errors import InputError
from lessons.course.earlier import Earlier, written_file
from lessons.course.exercises import unwritten
from lessons.course.lesson import Lesson, find_lesson
from lessons.course.progress import CourseProgress
from lessons.course.source_text import text_of
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.grading.walls.submission import Submission

EXERCISE = "exercise_of_lesson_"  # name of the module that a student's file becomes


def is_written(lesson: Lesson) -> bool:
    """Whether all functions of a lesson are there, but for warm-ups: nothing builds on those."""
    if not lesson.exercise.exists():
        return False
    needed = [name for name in lesson.blank if name not in lesson.warm_ups]
    return not unwritten(text_of(lesson.exercise), needed)


def failures_of(chosen: Iterable[Lesson]) -> dict[str, str]:
    """Grade lessons: number of each that fails -> its first failed check, in words.

    No training runs a warm-up, so its check does not count.
    A lesson that `python -m lessons check` has passed is not graded again until its file changes.
    """
    progress = CourseProgress()
    waiting = [one for one in chosen if not (progress.is_done(one) and progress.is_current(one))]
    checks = [(lesson, check) for lesson in waiting for check in lesson.main_checks]
    failures: dict[str, str] = {}
    quiet = not sys.stderr.isatty()
    with (
        WorkerPool() as workers,
        tqdm(checks, "checking your lessons", leave=False, disable=quiet) as bar,
    ):
        for lesson, check in bar:
            if lesson.number in failures:
                continue
            function = checks_of(lesson)[check.name]
            submission = Submission.read(lesson.exercise)
            seed = secrets.randbits(32)
            result = run_check(function, lesson, check, submission, workers, seed, effort=NO_EFFORT)
            if result.status != "passed":
                failures[lesson.number] = (
                    f"{lesson.name} does not pass its check {check.name} ({result.diagnosis}); "
                    f"see python -m lessons check {lesson.number}"
                )
    return failures


def replace_everywhere(module_name: str, name: str, new: object) -> None:
    """Put `new` wherever one of our modules has this function, also in a table of functions."""
    old = getattr(importlib.import_module(module_name), name)
    ours = ("kernels.", "lessons.", "__main__", EXERCISE)
    for module in [one for key, one in sys.modules.items() if key.startswith(ours)]:
        tables = [value for value in vars(module).values() if type(value) is dict]
        for table in (vars(module), *tables):
            for key in [key for key, value in table.items() if value is old]:
                table[key] = new


def put_in_place(earlier: Earlier) -> None:
    """Let `kernels/` use the functions of an earlier lesson's file, or of a given one."""
    lesson = find_lesson(earlier.name.partition("_")[0])
    for module, names in earlier.functions.items():
        for name in names:
            replace_everywhere(module, name, load(lesson, name))


def load(lesson: Lesson, function: str) -> Callable[..., Any]:
    """A function of a student's file, or of a given one; the file is imported only once."""
    path = written_file(lesson)
    name = f"{EXERCISE}{lesson.number}"
    module = sys.modules.get(name)
    if module is None:
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification and specification.loader, "a file that ends in .py has a loader"
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        try:
            specification.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise InputError(
                f"{path} cannot be imported: {type(error).__name__}: {error}"
            ) from None
    if not hasattr(module, function):
        raise InputError(f"{path} has no function {function}")
    return getattr(module, function)
