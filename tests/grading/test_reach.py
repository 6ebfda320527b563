"""What a student's file can reach is a list, and this walks it: no frame, module, memory, nor text.

From each name that a file may import, and from things of each kind that it can make, along every
attribute and element that the rules let it ask for.
"""

import builtins
import linecache
import os
import sys
import types

import numpy as np
import pytest
from numba import cuda, njit

from kernels.plumbing.errors import InputError
from lessons.course.lesson import lessons
from lessons.grading.walls import own_objects, stand_ins
from lessons.grading.walls.allowed_names import (
    MODULES,
    is_left_out,
    module_named,
    safe_builtins,
    why_not,
    why_not_module,
)
from tests.grading.grade import LESSON, grade, pool_for_any_code
from tests.grading.made_class import SOLUTION

DEEPEST = 9  # dots in a path
# Of our own classes, what a file may hold: it was made for that.
OURS = {"kernels", "lessons.grading.walls.stand_ins", "lessons.grading.walls.own_objects"}
NEVER = types.FrameType, types.CodeType, types.TracebackType, types.ModuleType, types.CellType
NEVER_THESE = {
    id(thing): name
    for name, thing in {
        **{name: getattr(builtins, name) for name in
           ("eval", "exec", "open", "compile", "getattr", "setattr", "delattr", "vars", "globals",
            "__import__", "__build_class__")},
        "np.ndarray": np.ndarray, "sys.modules": sys.modules, "os.environ": os.environ,
        "linecache": linecache.cache, "type": type, "sys.stderr": sys.stderr,
        **{f"the names of {name}": vars(module) for name, module in list(sys.modules.items())
           if isinstance(module, types.ModuleType)},
    }.items()
}  # fmt: skip


def kernel_of_mine(array):
    array[0] = 1


def things():
    """name -> what a file may import, or makes."""
    for name in sorted(MODULES):
        if why_not_module(name) is not None:
            continue
        module = module_named(name)
        for part in dir(module):
            if why_not(module, part) is None and hasattr(module, part):
                value = stand_ins.NUMPY.get((name, part), getattr(module, part))
                if not isinstance(value, types.ModuleType):  # known by its name, and looked at
                    yield f"{name}.{part}", value
    for name, value in safe_builtins().items():
        if not name.startswith("__") and name not in ("type", "getattr"):
            yield name, value
    try:
        raise InputError("an error")
    except InputError as error:
        yield "an exception", error
    made = {
        "array": np.zeros((2, 3), np.float32), "number": np.float32(1), "text": "text",
        "kernel": cuda.jit(kernel_of_mine),
        "device function": cuda.jit(device=True)(kernel_of_mine), "njit": njit(kernel_of_mine),
        "random": np.random.default_rng(1), "generator": (i for i in ()), "function": things,
        "view": memoryview(b"abc"), "list": [1], "record": np.zeros(1, "i4,f4"),
        "ask": own_objects.ask, "field": own_objects.FieldOf(),
        "type": own_objects.OneArgumentType,
        "class of an array": own_objects.OneArgumentType(np.zeros(1)),
        "super": super(stand_ins.Logger, stand_ins.Logger()),
    }  # fmt: skip
    yield from made.items()


def parts_of(thing):
    """Pairs of a word and what stands there, for all that a file may ask a thing for."""
    for name in dir(thing):
        if is_left_out(name):
            continue
        try:
            asked = name in own_objects.ASKED
            yield f".{name}", own_objects.ask(thing, name) if asked else getattr(thing, name)
        except Exception:
            continue
    if isinstance(thing, (list, tuple, set, frozenset)):
        yield from (("[]", item) for item in list(thing)[:1000])
    elif isinstance(thing, dict):
        yield from (("[]", item) for pair in list(thing.items())[:1000] for item in pair)


def forbidden(thing):
    """What a thing is that no file may reach; None for others."""
    kind = type(thing)
    if id(thing) in NEVER_THESE:
        return NEVER_THESE[id(thing)]
    if issubclass(kind, NEVER) or kind.__name__ == "PyCapsule":
        return kind.__name__
    place = thing.__module__ if isinstance(thing, type) else kind.__module__
    if str(place).startswith("lessons.") and place not in OURS:
        return f"{place}.{kind.__name__}"
    return None


def key(thing):
    """What is looked at once: each class, function, container; of other classes one thing each."""
    if isinstance(thing, (type, types.FunctionType, dict, list, tuple, set)):
        return id(thing)
    return type(thing)


def test_nothing_that_a_file_can_reach_leads_out_of_it():
    seen, found = {}, []
    waiting = list(things())
    for path, thing in waiting:  # it grows meanwhile
        what = forbidden(thing)
        if what:
            found.append(f"{path} is {what}")
        elif key(thing) not in seen and path.count(".") < DEEPEST:
            seen[key(thing)] = thing  # kept, so that no other gets its number
            waiting += [(path + word, part) for word, part in parts_of(thing)]
    assert sorted(set(found), key=len)[:40] == []
    assert len(seen) > 500


# What a file of lesson 1 may import, and what that calls: the simulator needs their text.
HELPERS = {
    "adam_step", "area_average", "bilinear_derivative", "corner_weights", "downsample", "gelu",
    "neighbours", "overlap", "random_uv", "upsample",
}  # fmt: skip
# A file that uses all of Python: it looks for texts of functions that students write, before its
# functions run and after a kernel of its own has run.
LOOKS = """
import gc
import linecache
from lessons.lab.source import Source, source_of_function


def texts():
    for name, (_, _, lines, *_) in linecache.cache.items():
        yield name, lines
    for thing in gc.get_objects():
        if type(thing) is Source:
            yield thing.filename, thing.lines.values()


def look():
    for name, lines in texts():
        for line in () if name.endswith("exercise.py") else lines:
            word = line.partition("(")[0].removeprefix("def ")
            assert not line.startswith("def ") or word not in {written}, f"{{name}} {{line}}"
    strangers = [name for name in linecache.cache if "/kernels/" not in name]
    assert all(name.endswith("exercise.py") for name in strangers), strangers


look()
assert source_of_function.cache_info().currsize == 0
launch = launch_over_pixels


def launch_over_pixels(*arguments, **named):
    launch(*arguments, **named)
    look()
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_forked", [False, True])
def test_no_text_of_a_solution_is_in_a_worker(is_forked, request):
    pool = request.getfixturevalue("forks").new_pool(True) if is_forked else pool_for_any_code()
    written = {name for lesson in lessons() for name in lesson.blank} - HELPERS
    text = SOLUTION[1] + LOOKS.format(written=written)
    for result in grade(text, LESSON.checks[:2], workers=pool).values():
        assert result.status == "passed", result.message
    pool.stop()
