"""In the worker: no text of a solution stays in memory once a student's file is there.

The simulator reads kernels as text, and Python keeps the text of each file that it was asked for.
So before a file is loaded, lines of our solutions go: those of its own lesson, and those of other
lessons that nothing it may use leads to.
"""

import importlib
import linecache
import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any, cast

from lessons.course.lesson import lessons
from lessons.grading.walls.allowed_names import MODULES, OF_OTHER_LESSONS
from lessons.grading.walls.identifiers import reached
from lessons.grading.walls.plain_code import codes_in
from lessons.grading.worker.own_kernels import KERNEL, KERNELS, function_of
from lessons.lab.compile_checks import is_compiled
from lessons.lab.compiled.engine import native_kernel

Named = dict[str, list[str]]  # module of kernels/ -> functions of it
# (module of kernels/, function, whether a student writes it), of all lessons. Read at once: later
# this process may not read other lessons' files.
WORK_OF_LESSONS = [
    (part.module, name, name in lesson.blank)
    for lesson in lessons()
    for part in lesson.parts
    for name in part.functions
]
GONE = "lambda: 'this text is not here'\n"  # what is found there is no kernel, then


def forget_solutions(hide: Named, given: Named, ours: Iterable[str]) -> None:
    """Take the texts of solutions out of Python's cache of lines, and out of the lab's.

    hide, given, ours: see `StudentFile.load`.
    """
    own = {(module, name) for module, names in hide.items() for name in names}
    written = {(module, name) for module, name, is_written in WORK_OF_LESSONS if is_written}
    theirs = {place: function_of(there(*place)) for place in written | own}
    wanted = called_by(theirs[place] for place in own) | usable(hide, given)
    needed = reached(wanted, called_by) - {theirs[place] for place in own if place[1] not in ours}
    for name in [name for name in linecache.cache if not name.startswith(KERNELS)]:
        del linecache.cache[name]
    for function in {*theirs.values()} - needed:
        if isinstance(function, FunctionType):  # a handout has none
            blank(function)
    for name, module in list(sys.modules.items()):
        for cached in vars(module).values() if name.startswith("lessons.lab.") else ():
            if hasattr(cached, "cache_clear") and cached is not native_kernel:
                cached.cache_clear()


def blank(function: FunctionType) -> None:
    """Leave empty lines where the text of a function of kernels/ was."""
    code = function.__code__
    spans = (line for inner in codes_in(code) for _, _, line in inner.co_lines())
    first, last = code.co_firstlineno - 1, max(line or 0 for line in spans)
    lines = linecache.getlines(code.co_filename)
    lines[first:last] = [GONE, *["\n"] * (last - first - 1)]
    linecache.cache[code.co_filename] = 0, None, lines, code.co_filename


def there(module: str, name: str) -> object:
    return vars(importlib.import_module(module)).get(name)


def usable(hide: Named, given: Named) -> set[object]:
    """What kernels of a file may call, and what its lesson brings: functions of kernels/."""
    found = [there(module, name) for module in given for name in given[module]]
    for module in {*hide, *given}:
        found += vars(importlib.import_module(module)).values()  # what is imported there
    for name, known in list(sys.modules.items()):
        for value in vars(known).values() if name in MODULES else ():
            if id(value) not in OF_OTHER_LESSONS and is_device_function(value):
                found.append(value)
    return ours_among(found)


def called_by(functions: Iterable[object]) -> set[object]:
    """The functions of kernels/ whose names, or names in a module, stand in these."""
    found: list[object] = []
    for function in ours_among(functions):
        names = {name for code in codes_in(function.__code__) for name in code.co_names}
        values = [function.__globals__[name] for name in names & function.__globals__.keys()]
        modules = [value for value in values if isinstance(value, ModuleType)]
        found += [*values, *(getattr(module, name, None) for module in modules for name in names)]
    return ours_among(found)


def ours_among(values: Iterable[object]) -> set[Any]:
    """The Python functions of kernels/ among these, also of its kernels."""
    functions = {one for one in map(function_of, values) if isinstance(one, FunctionType)}
    return {one for one in functions if one.__code__.co_filename.startswith(KERNELS)}


def is_device_function(value: object) -> bool:
    if isinstance(value, FunctionType):
        return is_compiled(value)
    return type(value) is KERNEL and bool(cast(Any, value).targetoptions["device"])
