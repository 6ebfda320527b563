"""Write a kernel with all that it uses as one text, which imports nothing of this project."""

import ast
import dis
import inspect
import math
import operator
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import cuda
from numba.core import types
from numba.cuda import libdevice
from numba.extending import register_jitable

from kernels.plumbing.errors import InputError

# Where a name may come from: module -> how it is imported.
HOMES: list[tuple[Any, str]] = [
    (numba, "numba"),
    (cuda, "numba.cuda"),
    (math, "math"),
    (np, "numpy"),
    (operator, "operator"),
    (types, "numba.types"),
    (libdevice, "numba.cuda.libdevice"),
]
MODULES = {numba: "numba", math: "math", np: "numpy", operator: "operator"}
PLAIN = int, float, bool, str, bytes, complex, type(None)


class Unfit(InputError):
    """A kernel that cannot be told in one text, and why."""


class OneText:
    """Gathers functions and what they use; `text` is the whole."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}  # name in the text -> what it stands for
        self.imports: set[str] = set()
        self.constants: list[str] = []
        self.functions: list[str] = []

    def text(self) -> str:
        top = [*sorted(self.imports), "", *self.constants]
        return "\n".join(top).rstrip() + "\n\n\n" + "\n\n\n".join(self.functions) + "\n"

    def add(self, name: str, value: Any) -> str:
        """Have the text hold a value; returns its name there, another one if that is taken."""
        for known, other in self.values.items():
            if known.partition("__")[0] == name and is_same(other, value):
                return known
        number = sum(known.partition("__")[0] == name for known in self.values)
        own = f"{name}__{number + 1}" if number else name
        self.values[own] = value
        self.define(own, value)
        return own

    def define(self, name: str, value: Any) -> None:
        function = getattr(value, "py_func", value)
        if isinstance(value, ModuleType):
            self.imports.add(import_of_module(name, value))
        elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            self.imports.add("from collections import namedtuple")
            self.constants.append(f"{name} = namedtuple({value.__name__!r}, {value._fields!r})")
        elif found := import_of(name, value):
            self.imports.add(found)
        elif isinstance(function, FunctionType):
            self.define_function(name, function)
        else:
            self.constants.append(f"{name} = {self.literal(name, value)}")

    def literal(self, name: str, value: Any) -> str:
        if isinstance(value, np.generic):
            self.imports.add("import numpy as np")
            return f"np.{value.dtype.name}({value.item()!r})"
        if isinstance(value, np.ndarray) and value.size < 1000:
            self.imports.add("import numpy as np")
            return f"np.array({value.tolist()!r}, np.{value.dtype.name})"
        if isinstance(value, tuple):
            inside = ", ".join(self.literal(name, item) for item in value)
            return f"({inside}{',' * (len(value) == 1)})"
        if type(value) in PLAIN:
            return f"float({str(value)!r})" if value != value or value in INFINITE else repr(value)
        raise Unfit(f"uses {name}, a {type(value).__name__}")

    def define_function(self, name: str, function: FunctionType) -> None:
        if function.__name__ == "<lambda>":
            raise Unfit("uses a lambda")
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(tree, ast.FunctionDef), "a function's text is its definition"
        known = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        used = (set(names_of(function.__code__)) | names_above(tree)) & known.keys()
        renamed = {function.__name__: name}
        for one in sorted(used - {function.__name__}):
            renamed[one] = self.add(one, known[one])
        self.functions.append(ast.unparse(Renamed(renamed).visit(tree)))


class Renamed(ast.NodeTransformer):
    """Gives names another name, and leaves out docstrings."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        if ast.get_docstring(node) is not None and len(node.body) > 1:
            del node.body[0]
        return node


INFINITE = math.inf, -math.inf


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or type(one) is not type(other):
        return one is other
    return one is other or (isinstance(one, (*PLAIN, np.generic)) and one == other)


def import_of_module(name: str, module: ModuleType) -> str:
    if module is cuda or module.__name__ in ("numba.cuda", "numba_cuda.numba.cuda"):
        return "from numba import cuda" + (f" as {name}" if name != "cuda" else "")
    if module is libdevice:
        return "from numba.cuda import libdevice" + (f" as {name}" if name != "libdevice" else "")
    if module not in MODULES:
        raise Unfit(f"uses the module {module.__name__}")
    return f"import {MODULES[module]}" + (f" as {name}" if name != MODULES[module] else "")


def import_of(name: str, value: Any) -> str:
    """The line that imports a value under a name; "" for what no library has."""
    if value is register_jitable:
        return "from numba.extending import register_jitable"
    if type(value) in (*PLAIN, tuple) and not (name == "pi" and value == math.pi):
        return ""
    for module, path in HOMES:
        for theirs in (name, getattr(value, "__name__", None)):
            if isinstance(theirs, str) and getattr(module, theirs, None) is value:
                return f"from {path} import {theirs}" + (f" as {name}" if name != theirs else "")
    return ""


def names_of(code: CodeType) -> Iterator[str]:
    """What a function's code, and those of functions in it, take from outside."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            yield str(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_of(inner)


def names_above(function: ast.FunctionDef) -> set[str]:
    """The names in the decorators of a function, its defaults and its annotations."""
    nodes = [*function.decorator_list, function.args]
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def one_text(kernels: list[Callable]) -> tuple[str, list[str]]:
    """(the text of these kernels with all that they use, the name of each in it).

    Raises `Unfit` for what cannot be told so.
    """
    gathered = OneText()
    names = [gathered.add(function_name(kernel), kernel) for kernel in kernels]
    return gathered.text(), names


def function_name(kernel: Any) -> str:
    return getattr(kernel, "py_func", kernel).__name__
