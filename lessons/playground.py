"""Your own exercise as a module: for a file in which you try its kernels.

    from lessons.playground import exercise

    mine = exercise(3)
    mine.launch_sample_batch(image, 1, 1, uv, target, launch=run)

`lessons/01_grayscale/README.md` tells how to go on from there.
"""

import importlib
from types import ModuleType

from lessons.course.earlier import earlier_files
from lessons.course.lesson import find_lesson
from lessons.student_functions import put_in_place


def exercise(number: int | str) -> ModuleType:
    """The module that `exercise.py` of a lesson is.

    number: of the lesson, as in `python -m lessons check 3`. Where `kernels/` holds no solutions,
    as in a handout, the functions of earlier lessons that it builds on are the student's own, too.
    Raises `InputError` if there is no such lesson, or an earlier file lacks what is needed.
    """
    lesson = find_lesson(str(number))
    for earlier in earlier_files(lesson):
        put_in_place(earlier)
    return importlib.import_module(f"lessons.{lesson.folder.name}.exercise")
