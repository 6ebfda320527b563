"""Write a kernel with all that it uses as one text, which imports nothing of this project."""

import ast
import builtins
import math
import operator
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numba
import numba.cuda
import numba.extending
import numpy as np
from numba.core import types

from kernels.plumbing.errors import InputError
from lessons.lab.source import MISSING, Source, called_source

MODULES = {"math": math, "numpy": np, "operator": operator, "numba": numba}
# Where a name may come from: how it is imported -> the module.
HOMES = MODULES | {"numba.cuda": numba.cuda, "numba.extending": numba.extending}
HOMES["numba.types"] = types
PLAIN = int, float, bool, str, type(None)


class Unfit(InputError):
    """A kernel that cannot be told in a line, and why."""


class OneText:
    """Gathers functions and what they use. values: name in the text -> what it stands for."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.imports: set[str] = set()
        self.constants: list[str] = []
        self.functions: list[str] = []

    def text(self) -> str:
        top = [*sorted(self.imports), "", *self.constants]
        return "\n".join(top).rstrip() + "\n\n\n" + "\n\n\n".join(self.functions) + "\n"

    def add(self, name: str, value: Any) -> str:
        """Have the text hold a value; returns its name there, another one if that is taken."""
        alike = {own: v for own, v in self.values.items() if own.partition("__")[0] == name}
        for own, other in alike.items():
            if other is value or (type(value) in PLAIN and repr(other) == repr(value)):
                return own
        own = f"{name}__{len(alike) + 1}" if alike else name
        self.values[own] = value
        if found := import_of(own, value):
            self.imports.add(found)
        elif source := called_source(value):
            self.define(own, source)
        else:
            self.constants.append(f"{own} = {self.literal(name, value)}")
        return own

    def literal(self, name: str, value: Any) -> str:
        if isinstance(value, np.generic):
            self.imports.add("import numpy")
            return f"numpy.{value.dtype.name}({value.item()!r})"
        if type(value) is tuple:
            return f"({''.join(self.literal(name, item) + ', ' for item in value)})"
        if type(value) in PLAIN:
            return repr(value) if value == value else "float('nan')"
        raise Unfit(f"uses {name}, a {type(value).__name__}")

    def define(self, name: str, source: Source) -> None:
        """Add a function, and what it takes from outside."""
        function = source.function
        tree: Any = ast.parse(textwrap.dedent("\n".join(source.lines.values()))).body[0]
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        renamed = {function.__name__: name}
        for one in sorted(named - {*function.__code__.co_varnames, *dir(builtins), *renamed}):
            if (value := source.lookup(one)) is not MISSING:
                renamed[one] = self.add(one, value)
        self.functions.append(ast.unparse(Renamed(renamed).visit(tree)))


class Renamed(ast.NodeTransformer):
    """Gives names another name, and leaves out docstrings."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        if ast.get_docstring(node) is not None and len(node.body) > 1:
            del node.body[0]
        return node


def import_of(name: str, value: Any) -> str:
    """The line that imports a value under a name; "" for what no library has."""
    if isinstance(value, ModuleType):
        if value is numba.cuda:
            return f"from numba import {called('cuda', name)}"
        found = [path for path, module in MODULES.items() if module is value]
        if not found:
            raise Unfit(f"uses the module {value.__name__}")
        return f"import {called(found[0], name)}"
    if type(value) in (*PLAIN, tuple):
        return ""
    for path, module in HOMES.items():
        for theirs in (name, getattr(value, "__name__", None)):
            if isinstance(theirs, str) and getattr(module, theirs, None) is value:
                return f"from {path} import {called(theirs, name)}"
    return ""


def called(theirs: str, name: str) -> str:
    return theirs if theirs == name else f"{theirs} as {name}"


def one_text(kernels: list[Callable]) -> tuple[str, list[str]]:
    """(the text of these kernels with all that they use, the name of each in it).

    Raises `Unfit` for what cannot be told so.
    """
    gathered = OneText()
    names = [gathered.add(getattr(one, "py_func", one).__name__, one) for one in kernels]
    return gathered.text(), names
