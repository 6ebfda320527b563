"""Whose functions run: those of `kernels/`, or the student's."""

import functools
import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kernels.plumbing.errors import InputError
from lessons.course.earlier import COMMAND, earlier_files, in_handout, is_given, written_file
from lessons.course.lesson import Lesson, find_lesson, lessons
from lessons.student_functions import failures_of, is_written, load, put_in_place


def our_stages(lesson: Lesson, names: Iterable[str]) -> SimpleNamespace:
    """Functions of `kernels/` that the exercise of a lesson holds, by name."""
    module_of = {name: part.module for part in lesson.parts for name in part.functions}
    modules = {name: importlib.import_module(module_of[name]) for name in names}
    return SimpleNamespace(**{name: getattr(modules[name], name) for name in modules})


def student_stages(lesson: Lesson, names: Iterable[str]) -> SimpleNamespace:
    """The same functions, of the student's file, or in a handout of a given one."""
    return SimpleNamespace(**{name: explained(lesson, load(lesson, name)) for name in names})


def why_not(lesson: Lesson, force: bool) -> str:
    """Why the student's functions of a lesson cannot be taken; "" if they can."""
    if is_given(lesson):
        return ""
    if not is_written(lesson):
        return f"{lesson.name} is not written yet; see python -m lessons"
    failures = {} if force else failures_of([lesson])
    return "".join(f"{reason}, or add --force" for reason in failures.values())


def fill_kernels(lesson: Lesson, force: bool, say: Callable[[str], None]) -> None:
    """In a handout, put where `kernels/` has no solutions what the command of a lesson needs.

    These functions are the student's, or those of `solutions/`. In the whole project there is
    nothing to do. Raises `InputError` if a lesson is not written, or does not pass.
    """
    known = {other.name: other for other in lessons()}
    needed = [(known[file.name], file) for file in earlier_files(lesson, COMMAND)]
    for other, _ in needed:
        reason = why_not(other, force)
        if reason:
            raise InputError(f"{reason}; or ask for solutions/{other.name}.py")
    for other, file in needed:
        whose = "given" if is_given(other) else "yours"
        say(f"lesson {other.number}: {whose} ({', '.join(file.names)})")
        put_in_place(file)


def explained(lesson: Lesson, function: Callable[..., Any]) -> Callable[..., Any]:
    """The student's function; what it raises becomes an `InputError` that says where."""

    @functools.wraps(function)
    def call(*arguments: Any, **by_name: Any) -> Any:
        try:
            return function(*arguments, **by_name)
        except InputError as error:
            raise InputError(f"your {function.__name__} of {lesson.name}: {error}") from None
        except Exception as error:
            raise InputError(
                f"your {function.__name__} of {lesson.name} fails with "
                f"{type(error).__name__}: {error}{line_of(error, written_file(lesson))}"
            ) from None

    return call


def line_of(error: BaseException, file: Path) -> str:
    """The last line of a file that an exception came through, in words."""
    line, step = 0, error.__traceback__
    while step is not None:
        if Path(step.tb_frame.f_code.co_filename) == file:
            line = step.tb_lineno
        step = step.tb_next
    return f" (line {line})" if line else ""


class StageChooser:
    """Whose functions a command takes.

    own: the lesson that the command belongs to. use: whether --use lessons is given. force:
    whether --force is. say: prints a line.
    """

    def __init__(self, own: str, use: bool, force: bool, say: Callable[[str], None]) -> None:
        self.own = own
        self.use = use
        self.force = force
        self.say = say

    def __call__(self, number: str, names: Iterable[str]) -> SimpleNamespace:
        """The functions of a lesson, by name, and a line that says whose they are.

        number: such as "13". Without --use they are ours. With it, the command's own lesson has to
        be the student's: raises `InputError` if it is not written or does not pass. For another
        lesson that is not written or does not pass, ours take its place.
        """
        lesson = find_lesson(number)
        names = list(names)
        if in_handout(lesson):  # `fill_kernels` has looked at them
            return student_stages(lesson, names)
        if not self.use:
            return our_stages(lesson, names)
        reason = why_not(lesson, self.force)
        if reason and number == self.own:
            raise InputError(f"--use lessons: {reason}")
        if reason:
            self.say(f"lesson {number}: ours ({reason.removesuffix(', or add --force')})")
            return our_stages(lesson, names)
        found = student_stages(lesson, names)
        self.say(f"lesson {number}: yours ({', '.join(names)})")
        return found

    def fill(self, stages: Any) -> Any:
        """A NamedTuple of functions, with those that the command's own lesson asks for chosen."""
        held = {name for part in find_lesson(self.own).parts for name in part.functions}
        names = {field: function.__name__ for field, function in stages._asdict().items()}
        own = {field: name for field, name in names.items() if name in held}
        found = self(self.own, own.values())
        return stages._replace(**{field: getattr(found, name) for field, name in own.items()})
