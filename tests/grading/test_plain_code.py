"""Which part of a file runs: everything that an exercise may hold, and nothing beside it."""

import collections
import inspect
import linecache
import types

import numpy as np
import pytest

from kernels.plumbing.errors import InputError
from lessons.course.exercises import solution_text
from lessons.course.lesson import find_lesson
from lessons.grading.walls.allowed_names import OF_OTHER_LESSONS, evaluate_types
from lessons.grading.walls.plain_code import plain_code
from lessons.grading.worker.student_file import keep_others_work_away, run_plain, text_for_the_lab
from lessons.lab import checked_run
from lessons.lab.compiled.engine import NativeCompileError, native
from tests.grading.grade import grade
from tests.grading.made_class import SOLUTION

# What students write: all of it runs.
PLAIN = """
from __future__ import annotations
import math, itertools
import numba, numpy
import numpy as np
import numba.cuda
import kernels.config as config
from math import *
from typing import NamedTuple
from numba import cuda as gpu, float32, njit, types
from numba.core import types as more_types
from numba.cuda import grid, jit, libdevice, shared, syncthreads
from numba.extending import register_jitable
from kernels import launch
from kernels.config import *
from kernels.launch import blocks_for, on_gpu

np.set_printoptions(precision=3)
SHAPE = (config.TILE, launch.blocks_for(3, 2))
device = gpu


class Pair(NamedTuple):
    first: float
    second: float = 0.0


class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1


def make(size):
    @device.jit(device=True, inline=True)
    def inner(x):
        tile = shared.array(size, float32)
        random = numpy.random.default_rng(1)
        return tile[0] + sqrt(x) + libdevice.sqrtf(x) + np.float32(random.random())

    return inner


def table(input, open=3, vars=()):
    copy = [value for value in input if type(value) is float]
    return Pair(*copy)._replace(second=open), {**dict(vars)}, math.inf


if __name__ == "__main__":
    try:
        print(f"{make(3)!r}", *itertools.chain(table([1.0])))
    except (ValueError, TypeError) as error:
        raise SystemExit(1) from error
"""


def test_what_students_write_runs():
    assert [str(reason) for reason in plain_code(PLAIN, ["make", "table"]).left_out] == []


@pytest.mark.parametrize(
    "beside",
    [
        "import os",
        "import sys\nsys.path.append('..')",
        "import matplotlib.pyplot as plt\ndef show(image):\n    plt.imshow(image)\nshow(3)",
        "from lessons.lab import checked_run\nif __name__ == '__main__':\n    checked_run(kernel)",
        "import warnings, math\nwarnings.simplefilter('ignore')",
        "import numpy as np\nrows = np.zeros(9)\nrows.resize(3, refcheck=False)",
        "from numba import njit\nnext(iter(njit(abs).overloads.values()))",
        "from numba import njit\nsuper(type(njit), njit).compile(())",
        "from numba import stencil",
        "import numpy as np\nwords = np.random.PCG64().capsule",
        "import numpy as np\nnp.add = np.testing.assert_allclose = print",
    ],
)
def test_what_stands_beside_the_kernels_is_left_out_and_costs_nothing(beside):
    text = f"{beside}\n\ndef kernel(image):\n    return math.sqrt(image)\n"
    code = plain_code(f"import math\n{text}", ["kernel"])
    assert code.left_out
    names = {}
    exec(compile(code.tree, "exercise.py", "exec"), names)
    assert names["kernel"](4) == 2


@pytest.mark.parametrize(
    "code",
    [
        "import sys; x = sys",
        "from numba import core; x = core",
        "import numba; x = numba.core.utils.sys",
        "import numba; x = numba.sys",
        "import numpy as np; x = np.lib.format",
        "import numpy as np; (m,) = (np,); x = m",
        "import numpy as np; x = np.load('f', allow_pickle=True)",
        "import random; x = random._os",
        "import kernels.config; x = kernels.config.dataclasses.sys",
        "from kernels.training import devices; x = devices",
        "from typing import get_type_hints as x",
        "from functools import update_wrapper as x",
        "from operator import attrgetter as x",
        "x = (lambda: 0).__globals__",
        "x = [].__class__",
        "x = __builtins__",
        "x = eval('1')",
        "x = getattr(1, 'real')",
        "x = (i for i in ()).gi_frame",
        "x = type('X', (), {})",
        "class x(metaclass=type): pass",
        "class x:\n    def __getattr__(self, name): return {}",
        "class x:\n    __array_interface__ = {}",
        "match print:\n    case object(__self__=x): pass",
        "def x():\n    from os import system\n    return system",
        "import numpy as np; x = np.zeros(3).ctypes",
        "x = (lambda m: m.sys)(1)",
        "from . import x",
        # A module known by one name may not go where a name does not show it.
        "import numpy as m; x = m.testing\ndef f():\n    import random as m",
        "import numpy as m\ndef f():\n    global b\n    b = m\nf(); c = b; x = c.testing",
        "import numpy as m\nclass C:\n    n = m\nx = C.n",
        "import numpy as m\nclass C:\n    def f(self):\n        self.n = m\nx = C",
        "class C:\n    import numpy\nx = C",
        "import numpy as m; x = {0: m}",
        "import numpy as m; x = [m.linalg]",
        "import numpy as m\nlinalg = m.linalg\nx = (linalg,)",
        "def f():\n    import numpy as m\n    return m\nx = f()",
        # Names that stand elsewhere than in an expression.
        "class x:\n    match 1:\n        case __array_interface__: pass",
        "class x:\n    match [1]:\n        case [*__array_interface__]: pass",
        "class x:\n    from kernels.config import TILE as __array_interface__",
        "def x():\n    try:\n        x()\n    except ValueError as __error__: pass",
        "x = dict(__array_interface__=1)",
        "x = lambda __globals__: 1",
        # Attributes by position, which no name shows.
        "match (i for i in ()):\n    case C(x): pass",
        "def f(int):\n    match 1:\n        case int(y): pass\nx = f",
        "import numbers; x = numbers.Number.register(int)",
        # What makes classes, or memory.
        "import numbers; x = numbers.ABCMeta",
        "import typing; x = typing.get_origin(typing.Type[int])",
        "import time; x = type(time.get_clock_info('time'))",
        "from numba import cuda; x = cuda.PinnedMemory",
        "import numpy as np; x = np.sctypeDict",
        # `self` is what a method was called with, and nothing else.
        "def x(self):\n    return self.gi_frame",
        "class x:\n    def f(self):\n        return lambda self: self.f_globals",
        "class x:\n    def f(self):\n        return [self.f_back for self in (1,)]",
    ],
)
def test_what_reaches_beyond_the_file_is_refused_where_a_function_needs_it(code):
    found = plain_code(f"{code}\ndef kernel():\n    return x\n", ["kernel"])
    assert "which no exercise needs, and kernel needs it" in found.refused["kernel"]


def run(text):
    """The names of a file that is run as in a worker."""
    module = types.ModuleType("exercise")
    run_plain(text, "exercise.py", module, {})
    return vars(module)


def test_a_file_changes_objects_of_its_own_classes_only():
    text = """
import collections
class Mine:
    def set(self):
        \"\"\"A docstring.\"\"\"
        self._value = 3
        return self._value
class Child(Mine):
    pass
class Counts(Mine, collections.Counter):
    pass
found = Mine().set() + Child().set()
said = Mine.set.__doc__
def change(thing):
    Mine.set(thing)
"""
    names = run(text.replace("said = Mine.set.__doc__\n", ""))
    assert names["found"] == 6
    assert names["Mine"].set.__doc__ == "A docstring."
    for thing in (collections.Counter, collections.Counter(), names["Counts"]()):
        with pytest.raises(InputError, match="no object of this file's classes"):
            names["change"](thing)


@pytest.mark.parametrize(
    "method",
    [
        "def keep(queue): queue._kept = 1; return queue._kept",
        "def __enter__(selbst): selbst.kept = 1",
        "def keep(me, /): me.kept = 1",
    ],
)
def test_a_method_may_call_its_object_as_it_likes(method):
    text = f"class Mine:\n    {method}\n"
    assert not plain_code(text, ["Mine"]).left_out
    made, name = run(text)["Mine"], method.removeprefix("def ").partition("(")[0]
    vars(made)[name](made())
    with pytest.raises(InputError, match="no object of this file's classes"):
        vars(made)[name](types)


@pytest.mark.parametrize(
    "text",
    [
        "def f(queue): queue.kept = 1",
        "def f(queue): queue.kept += 1",
        "def f(queue): del queue.kept",
        "def f(queue): return queue._kept",
        "def f(queue): return queue.__kept",
        "class f:\n    def __init__(me, other): other.kept = 1",
        "class f:\n    def __init__(me, other): super().__init__(); other.__kept = 1",
        "class f:\n    def __init__(*me): me[1].kept = 1",
        "def f(queue):\n    for queue.kept in (1,): pass",
        "def f(queue):\n    with queue as queue.kept: pass",
        "def f(queue): [1 for queue.kept in (1,)]",
        "def f(queue): (queue.kept, x), y = (1, 2), 3",
    ],
)
def test_what_is_changed_is_asked_when_it_runs(text):
    """Of a function of ours, a class, a module's object; of one of the file it may be changed."""
    assert not plain_code(text, ["f"]).left_out
    f = run(text)["f"]
    for thing in (evaluate_types, InputError, InputError("x"), np.random.default_rng(1)):
        with pytest.raises((InputError, AttributeError, TypeError)) as told:
            f(thing)
        assert "kept" not in vars(thing) if hasattr(thing, "__dict__") else told


@pytest.mark.parametrize(
    "text",
    [
        "class x:\n    def f(me):\n        return lambda me: me.f_globals",
        "class x:\n    def f(me): return me.__class__",
        "class x:\n    def f(me): return super().__class__",
        "class x:\n    def f(me): return super(x, me).__init__",
    ],
)
def test_but_not_for_what_is_pythons_own(text):
    assert plain_code(f"{text}\ndef kernel():\n    return x\n", ["kernel"]).refused


@pytest.mark.parametrize(
    "code",
    [
        "numpy.ndarray((1,), object, numpy.arange(8))",
        "numpy.typing.NDArray[numpy.float32]((1,))",
        "type(numpy.zeros(1))((1,), object, numpy.arange(8))",
        "'{0.__globals__}'.format(print)",
        "'{0.gi_frame}'.format((i for i in ()))",
        "'{0[0].__class__}'.format([1])",
        "'{:{0.__class__}}'.format(1)",
        "str.format('{0.__class__}', 1)",
        "next(map(str.format, ['{0.__class__}'], [1]))",
        "'{x.__class__}'.format_map({'x': 1})",
        "collections.UserString('{0.__class__}').format(1)",
        "cuda.jit(print_it).py_func",
        "numba.njit(print_it).py_func",
        "numpy.zeros(3).base",
        "numpy.zeros(3).data",
        "numpy.random.default_rng(1).bit_generator",
        "numpy.random.RandomState(1).set_state(())",
        "dataclasses.dataclass(numba.types.Float)",
        "enum.Enum('X', {'__array_interface__': {}})",
        "enum.IntEnum('X', {'__init__': 1})",
        "abc.ABCMeta('X', (), {})",
        "type(cuda.jit(print_it))(print_it)",
        "sys.stderr.write.__self__",
    ],
)
def test_what_reaches_memory_or_other_code_ends_when_it_runs(code):
    heads = "abc collections dataclasses enum numba numpy numpy.typing sys".split()
    text = "".join(f"import {name}\n" for name in heads)
    text += f"from numba import cuda\ndef print_it(): pass\ndef f(): return {code}\n"
    function = run(text).get("f")  # None: it was left out
    with pytest.raises((InputError, TypeError)):
        function()


def test_one_function_with_more_than_an_exercise_does_not_cost_the_others():
    text = """
import os
def place():
    return os.getcwd()
def careful(x):
    return x + 1
def careless(x):
    return place(), careful(x)
def user(x):
    return careless(x)
"""
    module = types.ModuleType("exercise")
    wanted = {"kernels": ["careful", "careless", "user"]}
    refused = run_plain(text, "exercise.py", module, wanted).refused
    assert module.careful(2) == 3
    assert refused.keys() == {"careless", "user"}
    assert all(why.startswith("line 2: imports os, which no") for why in refused.values())


@pytest.mark.thorough
def test_the_checks_of_the_other_functions_give_their_points():
    wrong = SOLUTION[1].replace(
        "    x, y = cuda.grid(2)", "    import os\n    x, y = cuda.grid(2)", 1
    )
    assert wrong != SOLUTION[1]
    results = grade(wrong)
    assert results["luminance"].status == "passed" and results["every_pixel"].status == "error"
    assert "imports os" in results["every_pixel"].message
    assert "left out of your file: line 26: imports os" in results["every_pixel"].message


def test_type_tells_and_makes_nothing():
    names = run("make = type\ndef f(*parts): return make(*parts)\nhint = list[type[int]]\n")
    kind = names["f"]
    assert kind(1) is int and isinstance(int, names["make"]) and not isinstance(1, names["make"])
    for parts in ((int,), ("X", (), {}), (names["make"],)):
        with pytest.raises(InputError, match="would make classes"):
            kind(*parts)


NAMED = """
import collections
import functools
import typing
Pair = collections.namedtuple("Pair", "first, register, rest")
class Stages(typing.NamedTuple):
    encode: object
    held: object = None
class Lying(tuple):
    _fields = ("first", "f_globals")
class Listed(tuple):
    _fields = ["first"]
class Hidden(tuple):
    _fields = ("_first", "__class__", "first")
class Name(str):
    pass
class Thing:
    _fields = ("first",)
    first = 3
class Asked(Thing):
    @property
    def first(self):
        return 3
def take(value, name):
    return getattr(value, name)
def keep(value, name):
    def kept(take=getattr):
        return take(value, name)
    return kept()
def bind(value, name):
    return functools.partial(getattr, value)(name)
def apply(value, name):
    return next(map(getattr, [value], [name]))
def other(value, name):
    return getattr(value, name, 3)
def inner(value, name):
    return [getattr][0](value, name)
"""
TAKE = "take", "keep", "bind", "apply", "inner"
STUDENT_FUNCTIONS = (*TAKE, "other")


def run_with_getattr():
    """The names of the file above, in which each function is one of the lesson."""
    module = types.ModuleType("exercise")
    run_plain(NAMED, "exercise.py", module, {"kernels.launch": list(STUDENT_FUNCTIONS)})
    return vars(module)


def test_getattr_takes_fields_of_named_tuples():
    names = run_with_getattr()
    assert all(names[take](names["Stages"](7), "encode") == 7 for take in TAKE)
    assert all(names[take](names["Pair"](1, 2, 3), "rest") == 3 for take in TAKE)
    assert names["take"](names["Lying"]((4, 5)), "first") == 4


def test_getattr_takes_nothing_else():
    names = run_with_getattr()
    stages, name = names["Stages"](7, types), names["Name"]("encode")
    refused = [
        (stages, "held"),  # a module
        (stages, name), (stages, "index"), (stages, "count"), (stages, "_fields"), (stages, 0),
        (stages, "__class__"), (stages, "_replace"), (stages, None), (stages, b"encode"),
        (names["Stages"], "encode"), (names["Pair"](1, 2, 3), "register"),
        (names["Lying"]((4, 5)), "f_globals"), (names["Lying"](()), "first"),
        (names["Listed"]((4,)), "first"), (names["Hidden"]((4, 5, 6)), "_first"),
        (names["Hidden"]((4, 5, 6)), "__class__"), (names["Hidden"]((4, 5)), "first"),
        (names["Thing"](), "first"), (names["Asked"](), "first"), (names["Thing"], "first"),
        (names["take"], "__globals__"), (types, "sys"), ((1, 2), "first"), (1, "real"),
        (names["getattr"], "__globals__"),
    ]  # fmt: skip
    for value, name in refused:
        for take in STUDENT_FUNCTIONS:
            with pytest.raises(InputError, match="a public field of a named tuple here") as told:
                names[take](value, name)
            assert "\n" not in str(told.value)
    with pytest.raises(InputError):
        names["other"](names["Stages"](7), "encode")
    for given in ((), (stages,), (stages, "encode", 1, 2)):
        with pytest.raises(InputError):
            names["getattr"](*given)


def test_a_class_is_not_asked_what_it_is():
    """Nor a name: what only says that it is a tuple, or a text, is none."""

    class Claims:
        _fields = ("first",)
        first = 3
        __class__ = tuple

    class Names(str):
        def __eq__(self, other):
            return True

        __hash__ = str.__hash__

    class Asked(tuple):
        _fields = ("first",)

        def __getattribute__(self, name):
            raise AssertionError("was asked")

        def __iter__(self):
            raise AssertionError("was asked")

    take = run_with_getattr()["take"]
    assert isinstance(Claims(), tuple)
    for value, name in ((Claims(), "first"), (Asked((1,)), Names("anything"))):
        with pytest.raises(InputError):
            take(value, name)
    assert take(Asked((1,)), "first") == 1
    Asked._fields = (Names("anything"),)
    with pytest.raises(InputError):
        take(Asked((1,)), "first")


@pytest.mark.parametrize("jit", ["", "@register_jitable\n", "@njit\n"])
def test_no_kernel_calls_getattr(tmp_path, jit):
    """Numba would compile Python's own, which gives the address of an array."""
    text = f"""from numba import cuda, njit
from numba.extending import register_jitable
{jit}def take(array):
    return getattr(array, "ctypes")
@cuda.jit
def kernel(out):
    {"take(out)" if jit else 'getattr(out, "ctypes")'}
    out[0] = 1
"""
    path = tmp_path / "exercise.py"
    path.write_text(text)
    module = types.ModuleType("exercise")
    run_plain(text_for_the_lab(str(path)), str(path), module, {"kernels": ["kernel"]})
    with pytest.raises(NativeCompileError, match="`getattr` cannot be called in a kernel"):
        native(module.kernel)[1, 1](np.zeros(3, np.float32))
    found = checked_run(module.kernel, 1, 1, np.zeros(3, np.float32)).findings
    assert "`getattr` cannot be called in a kernel" in found[0].message


def test_getattr_that_no_function_of_the_lesson_needs_is_left_out():
    text = "def show(thing, name):\n    return getattr(thing, name)\nshow(3, 'real')\n"
    code = plain_code(f"{text}def kernel():\n    return 3\n", ["kernel"])
    (why,) = set(map(str, code.left_out))
    assert why == "line 2: uses getattr, which no exercise needs"
    assert len(code.tree.body) == 1


@pytest.mark.parametrize(
    "line",
    [
        "x = getattr(stages, 'encode')",
        "def x(found=getattr(stages, 'encode')): return found",
        "def x(found=getattr): return found(stages, 'encode')",
        "class x:\n    found = getattr(stages, 'encode')",
        "import numpy as getattr\ndef x(): return [getattr]",
        "if 0: getattr = None\ndef x(stages): return getattr(stages, 'encode')",
        "def x(stages): return getattr(stages, 'encode')\ndel getattr",
        "def x(stages):\n    global getattr\n    del getattr\n    return getattr(stages, 'ctypes')",
        "def x(stages): return getattr(stages, 'encode').__globals__",
        "def x(stages): return setattr(stages, 'encode', 3)",
        "def x(stages): return getattr.__globals__",
    ],
)
def test_getattr_that_runs_where_it_is_defined_is_refused_as_before(line):
    code = plain_code(f"stages = ()\n{line}\ndef kernel():\n    return x\n", ["kernel"])
    assert "which no exercise needs, and kernel needs it" in code.refused["kernel"]


def test_a_star_brings_only_what_a_file_may_have():
    names = run("from numpy import *\nfrom numba.cuda import *\nzeros(3)\n")
    assert "grid" in names and "float32" in names
    assert not {"load", "os", "save", "PinnedMemory"} & set(names)


def test_what_is_looked_at_is_what_the_lab_reads(tmp_path):
    path = tmp_path / "exercise.py"
    path.write_text("# coding: utf-7\n# +AAo-import os\ndef f():\n    return '\f'\n", "utf-8")
    module = types.ModuleType("exercise")
    run_plain(text_for_the_lab(str(path)), str(path), module, {})
    assert inspect.getsource(module.f) == "def f():\n    return '\f'\n"
    assert linecache.getlines(str(path))[1] == "# +AAo-import os\n"


def test_types_in_text_are_types_and_nothing_else():
    known = {"void": lambda *types: types, "float32": [1, 2], "sys": pytest}
    assert evaluate_types("void(float32[:], float32)", {}, known) == ([1, 2], [1, 2])
    for text in ("exec(bytes([1]))", "sys", "float32.__class__", "void('x')", "[c for c in void]"):
        with pytest.raises(InputError, match="names no types"):
            evaluate_types(text, {}, known)


@pytest.mark.parametrize(
    "text",
    [
        "from kernels.products.tiles import product_registers as x",
        "from kernels.products import tiles\nx = tiles.add_products",
        "from kernels.matmul import matmul_naive as x",
    ],
)
def test_what_other_lessons_write_is_theirs(text):
    lesson = find_lesson(2)
    functions = {part.module: list(part.functions) for part in lesson.parts}
    keep_others_work_away(functions)
    try:
        text = f"{text}\ndef kernel():\n    return x\n"
        assert "another lesson's work" in plain_code(text, ["kernel"]).refused["kernel"]
        assert not plain_code(solution_text(lesson), lesson.blank).left_out
    finally:
        OF_OTHER_LESSONS.clear()
