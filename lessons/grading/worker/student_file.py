"""In the worker: the student's file, how it is loaded, and what is hidden from it."""

import importlib
import linecache
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from numba import cuda
from numba.extending import register_jitable

from kernels.plumbing.errors import InputError
from lessons.course.source_text import source_lines
from lessons.grading.walls import own_objects, stand_ins
from lessons.grading.walls.allowed_names import OF_OTHER_LESSONS, safe_builtins
from lessons.grading.walls.plain_code import PlainCode, codes_in, plain_code
from lessons.grading.worker import own_kernels
from lessons.grading.worker.own_kernels import KERNEL, function_of
from lessons.grading.worker.protocol import Json
from lessons.grading.worker.solution_texts import WORK_OF_LESSONS, forget_solutions

MODULE = "exercise"

Replaced = tuple[types.ModuleType, str, object]  # module, name, what was there


class Solution:
    """Stands where a reference was that the student is to write."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: object, **keywords: object) -> NoReturn:
        raise InputError(f"{self.name} of kernels/ is the solution; write your own")

    def __getattr__(self, attribute: str) -> NoReturn:
        raise InputError(f"{self.name} of kernels/ is the solution; write your own")


class StudentFile:
    """The file of one student; empty until it is loaded."""

    def __init__(self) -> None:
        self.module = types.ModuleType(MODULE)
        self.hidden: list[Replaced] = []
        self.refused: dict[str, str] = {}  # function -> why it does not run
        self.left_out: list[str] = []  # lines on the statements that do not run
        self.forgotten = False  # whether the texts of our solutions have gone

    def load(self, request: Json) -> None:
        """Import the student's file, with the functions it has to write hidden from it.

        The request has "path"; "hide" and "given", module -> names: what is hidden, and what the
        exercise came with, in case it is gone; "ours": names of functions to put in the place of
        the file's own; "any_code": run all of the file, and not only what `plain_code` allows;
        "forget": whether no file of another lesson comes after this one.
        """
        path, hide = request["path"], request["hide"]
        for module, name, original in self.hidden:
            setattr(module, name, original)
        self.hidden.clear()
        keep_others_work_away(hide, request["given"])
        if request["forget"] and not self.forgotten:
            forget_solutions(hide, request["given"], request["ours"])
            self.forgotten = True
        # Only now: of these functions, the simulator needs the text.
        for file in request["earlier"]:
            self.load_earlier(file["path"], file["functions"])
        if request["earlier"]:
            keep_others_work_away(hide, request["given"])
        for module_name, names in hide.items():
            for name in names:
                self.hidden += replace_everywhere(module_name, name, Solution(name))
        self.module = types.ModuleType(MODULE)
        self.module.__file__ = path
        sys.modules[MODULE] = self.module
        text = text_for_the_lab(path)
        if request["any_code"]:
            exec(compile(text, path, "exec"), self.module.__dict__)
            self.refused = {}
        else:
            code = run_plain(text, path, self.module, hide)
            self.refused, self.left_out = code.refused, [str(reason) for reason in code.left_out]
        self.put_in_place(request["ours"], hide, request["given"])
        self.add_missing(request["given"])

    def put_in_place(self, ours: Sequence[str], *held: dict[str, list[str]]) -> None:
        """Put our functions in the place of the file's own that have failed, and lost their points.

        held: module -> functions that the exercise holds. What ours call of these is the file's
        own again, so that no mistake in it is hidden.
        """
        originals = {name: old for _, name, old in self.hidden}
        put = {name: copy_of(originals[name]) for name in ours}
        own_kernels.IN_PLACE[:] = put.values()
        mine = self.module.__dict__
        mine.update(put)
        names = {name for modules in held for listed in modules.values() for name in listed}
        own = {name: mine[name] for name in names & mine.keys()}
        for made in put.values():
            getattr(made, "py_func", made).__globals__.update(own)
        self.refused = {name: why for name, why in self.refused.items() if name not in put}

    def add_missing(self, given: dict[str, list[str]]) -> None:
        """Give the student's file those functions of its exercise that it lacks."""
        mine = self.module.__dict__
        for module_name, names in given.items():
            theirs = vars(importlib.import_module(module_name))
            for name in names:
                function = theirs[name]
                if name in mine or not isinstance(function, types.FunctionType):
                    continue
                code = function.__code__
                if needed := self.refused.keys() & set(code.co_names):
                    self.refused[name] = self.refused[min(needed)]
                    continue
                known = {**theirs, **mine}
                mine[name] = types.FunctionType(code, known, name, function.__defaults__)

    def load_earlier(self, path: str, functions: dict[str, list[str]]) -> None:
        """Put functions of an earlier lesson's file in the place of those that kernels/ lacks."""
        name = Path(path).stem
        module = types.ModuleType(name)
        try:
            refused = run_plain(text_for_the_lab(path), path, module, functions).refused
            if refused:
                raise InputError(next(iter(refused.values())))
        except Exception as error:
            raise InputError(f"{name}, which this lesson uses, has an error: {error}") from None
        for module_name, names in functions.items():
            for function in names:
                replace_everywhere(module_name, function, getattr(module, function))

    @property
    def path(self) -> str:
        """Of the student's file."""
        return str(self.module.__file__)

    def find(self, name: str) -> Callable:
        if name in self.refused:
            raise InputError(self.refused[name])
        if not hasattr(self.module, name):
            raise InputError(f"there is no function {name} in the file")
        return getattr(self.module, name)


def keep_others_work_away(*own: dict[str, list[str]]) -> None:
    """Have a file refused what other lessons' students write, but for what its own lesson uses.

    own: module of kernels/ -> functions of the file's lesson, as the course has them.
    """
    used: set[str] = set()
    for own_module, names in (pair for part in own for pair in part.items()):
        there = vars(importlib.import_module(own_module))
        used |= {name for name, value in there.items() if is_from_elsewhere(value, own_module)}
        for name in names:
            function = function_of(there.get(name))
            code = getattr(function, "__code__", None)
            for inner in codes_in(code) if code else ():
                used |= {name, *inner.co_names}
    OF_OTHER_LESSONS.clear()
    for module, name, is_written in WORK_OF_LESSONS:
        value = vars(importlib.import_module(module)).get(name)
        # A launch function's kernels are looked at when they start.
        to_write = is_written and not name.startswith("launch_")
        if name not in used and (to_write or type(value) is KERNEL):
            OF_OTHER_LESSONS.add(id(value))
    OF_OTHER_LESSONS.discard(id(None))


def is_from_elsewhere(value: object, module: str) -> bool:
    """Whether a name of a module stands for what was imported there."""
    return getattr(function_of(value), "__module__", module) != module


def copy_of(function: Any) -> Any:
    """A function or a kernel with global names of its own, which may be changed."""
    python = getattr(function, "py_func", function)
    copy = types.FunctionType(
        python.__code__, dict(python.__globals__), python.__name__, python.__defaults__
    )
    if python is function:
        return register_jitable(copy)  # of ours, whoever is called in a kernel is
    return cuda.jit(copy, device=function.targetoptions["device"])


def text_for_the_lab(path: str) -> str:
    """The text of a file, also for the lab when it looks up a kernel.

    Read from the file, it would be as the file's cookie says, and not as it was looked at here.
    """
    text = Path(path).read_text(encoding="utf-8")
    lines = [line + "\n" for line in source_lines(text)]
    linecache.cache[path] = len(text), None, lines, path
    return text


def run_plain(
    text: str, path: str, module: types.ModuleType, names: dict[str, list[str]]
) -> PlainCode:
    """Run what of a file is no more than an exercise, and return what was run.

    names: module of kernels/ -> the functions in their place that the file has to define.
    """
    wanted = [function for functions in names.values() for function in functions]
    code = plain_code(text, wanted, path)
    stand_ins.OWN.add(module.__name__)
    module.__dict__["__builtins__"] = {**safe_builtins(), "type": own_objects.OneArgumentType}
    # Not a builtin: those are Python's own to Numba, which would compile the real one in a kernel.
    module.__dict__["getattr"] = own_objects.FieldOf()
    module.__dict__.update(own_objects.NAMES)
    exec(compile(code.tree, path, "exec", dont_inherit=True), module.__dict__)
    return code


def replace_everywhere(module_name: str, name: str, new: object) -> list[Replaced]:
    """Put `new` wherever a module of kernels/ has this function, also where it was imported."""
    old = getattr(importlib.import_module(module_name), name)
    known = [module for other, module in list(sys.modules.items()) if other.startswith("kernels")]
    found = [module for module in known if getattr(module, name, None) is old]
    for module in found:
        setattr(module, name, new)
    return [(module, name, old) for module in found]
