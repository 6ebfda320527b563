"""Your own exercise as a module: for a file in which you try its kernels.

    from lessons.playground import exercise

    mine = exercise(3)
    mine.launch_sample_batch(image, 1, 1, uv, target, launch=run)

`lessons/01_grayscale/README.md` tells how to go on from there.
"""

import importlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from kernels.plumbing.errors import InputError
from lessons.course.earlier import Earlier, earlier_files
from lessons.course.lesson import find_lesson


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


def put_in_place(earlier: Earlier) -> None:
    """Let `kernels/` use the functions of an earlier lesson's file."""
    theirs = module_of(earlier.path)
    for module_name, names in earlier.functions.items():
        for name in names:
            if not hasattr(theirs, name):
                raise InputError(f"{earlier.path} has no function {name}, which is needed here")
            setattr(importlib.import_module(module_name), name, getattr(theirs, name))


def module_of(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"earlier_{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
