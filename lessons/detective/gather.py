"""A right kernel as one file of its own: with the functions and constants that it needs.

All of it is a syntax tree without comments and docstrings, constants first, callees before callers.
"""

import ast
import copy
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from lessons.course.exercises import SourceFile
from lessons.course.lesson import ROOT

OUTSIDE = ("math", "numba", "numpy")
IMPORTS = {"cuda", "float32", "float64", "int32", "int64", "uint32", "uint64"}


class Gathered:
    """What a launch function needs.

    changed: constants with another value than their own.
    """

    def __init__(self, module: str, launch: str, changed: Mapping[str, int]) -> None:
        self.changed = changed
        self.constants: dict[str, ast.expr] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.files: dict[str, SourceFile] = {}
        self.add(launch, module)
        only = self.functions[launch].body[0]
        call = only.value if isinstance(only, ast.Expr) else None
        called = self.functions.get(ast.unparse(call.func)) if isinstance(call, ast.Call) else None
        if called and isinstance(call, ast.Call):  # it only calls another launch function
            names = [one.arg for one in called.args.args]
            given = dict(zip(names, call.args, strict=False))
            self.functions[launch].body = [fill(one, given) for one in called.body]
            del self.functions[called.name]

    def add(self, name: str, module: str) -> None:
        """A function or a constant of a module, and what that needs in turn."""
        if name in self.functions or name in self.constants or name == "on_gpu":
            return
        if module not in self.files:
            path = ROOT / (module.replace(".", "/") + ".py")
            self.files[module] = SourceFile(path.read_text(encoding="utf-8"), module)
        file = self.files[module]
        if name in file.functions:
            function = bare(file.functions[name])
            self.needs(function, module)
            self.functions[name] = function
        elif name in file.imports:
            found = file.imports[name]
            if found.source and not found.module.startswith(OUTSIDE):
                self.add(found.source, found.module)
        elif name in file.assigned:
            self.constants[name] = self.constant(name, module)

    def constant(self, name: str, module: str) -> ast.expr:
        if name in self.changed:
            return ast.Constant(self.changed[name])
        for node in self.files[module].tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                self.needs(node.value, module)
                return node.value
        value = getattr(importlib.import_module(module), name)
        return ast.parse(repr(value), mode="eval").body

    def needs(self, node: ast.AST, module: str) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                self.add(part.id, module)


class Each(ast.NodeTransformer):
    """What `change` makes of each node, of inner ones first."""

    def __init__(self, change: Callable[[ast.AST], ast.AST]) -> None:
        self.change = change

    def visit(self, node: ast.AST) -> Any:
        return self.change(self.generic_visit(node))


def fill(node: ast.AST, given: Mapping[str, ast.expr]) -> Any:
    """The node with names replaced by expressions."""

    def change(part: ast.AST) -> ast.AST:
        return copy.deepcopy(given.get(part.id, part)) if isinstance(part, ast.Name) else part

    return Each(change).visit(node)


def bare(function: ast.stmt) -> ast.FunctionDef:
    """Without docstring, complaints of the host, and the usual launcher: nobody needs them here."""
    (copied,) = ast.parse(ast.unparse(function)).body
    assert isinstance(copied, ast.FunctionDef)
    if ast.get_docstring(copied) is not None:
        del copied.body[0]
    copied.body = [one for one in copied.body if "    raise " not in ast.unparse(one)]
    if copied.args.defaults and ast.unparse(copied.args.defaults[-1]) == "on_gpu":
        copied.args.defaults = []
    if any(ast.unparse(one).startswith("register_jitable") for one in copied.decorator_list):
        copied.decorator_list = [ast.parse("cuda.jit(device=True)", mode="eval").body]
    return copied


def file_text(constants: Mapping[str, ast.expr], functions: Mapping[str, ast.FunctionDef]) -> str:
    """The file, with the imports that it needs."""
    assigned = [ast.Assign([ast.Name(name)], value, lineno=0) for name, value in constants.items()]
    tree = ast.Module([*assigned, *functions.values()], [])
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    head = "import math\n" if "math" in used else ""
    head += "import numpy as np\n"  # for np.float16, with which digits are lost, or not
    head += f"from numba import {', '.join(sorted(used & IMPORTS))}\n\n"
    return head + ast.unparse(ast.fix_missing_locations(tree)) + "\n"
