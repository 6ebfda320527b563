"""What the names of a function stand for, as far as its text tells: arrays, whole numbers, others.

A name is only ever confused with one of its own kind.
"""

import ast
from collections.abc import Iterator

MOST_ALIKE = 20  # names that are tried in the place of one
CLOSE = 1  # the largest `distance` of names that are easily confused
OPPOSITES = (
    {"x", "y", "z"}, {"u", "v"}, {"width", "height"}, {"row", "column", "col"},
    {"rows", "columns", "cols"}, {"left", "right"}, {"top", "bottom"}, {"low", "high"},
    {"first", "second", "last"}, {"begin", "end"}, {"start", "stop", "end"}, {"old", "new"},
    {"red", "green", "blue"}, {"thread", "block"}, {"w", "h"}, {"r", "c"}, {"input", "output"},
    {"mean", "square"},
)  # fmt: skip
ARRAY, WHOLE, NUMBER = "array", "whole number", "number"
GRID = {"grid", "gridsize", "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize"}
WHOLE_CALLS = ("int32", "uint32", "int64", "uint64", "int", "len", "grid", "gridsize", "range")
WHOLE_OPERATORS = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)


class Scope:
    """The names of one function.

    known: name -> the line that first gives it a value; 0 for arguments. kinds: name -> what it
    stands for. of_the_file: constants and functions that the file imports or defines.
    """

    def __init__(self, function: ast.FunctionDef, of_the_file: set[str]) -> None:
        arguments = function.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.nodes = [node for statement in body_of(function) for node in ast.walk(statement)]
        self.known = {argument.arg: 0 for argument in parameters}
        self.of_the_file = of_the_file
        self.called = {called_name(node) for node in self.nodes}
        self.kinds: dict[str, str] = {}
        self.dimensions: dict[str, int] = {}
        for node in self.nodes:
            self.note(node)
        for _ in range(2):  # what a later line tells of an earlier one
            for node in self.nodes:
                self.note_value(node)
        products = [
            node
            for node in self.nodes
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        ]
        sides = [side for node in products for side in (node.left, node.right)]
        factors = {side.id for side in sides if isinstance(side, ast.Name) and side.id.isupper()}
        self.constant_factors = sorted(factors)

    def note(self, node: ast.AST) -> None:
        """What the use of a name says of it."""
        whole: list[ast.expr] = []
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self.known[node.id] = min(self.known.get(node.id, node.lineno), node.lineno)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            self.kinds[node.value.id] = ARRAY
            whole = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            self.dimensions[node.value.id] = len(whole)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in ("shape", "size"):
                self.kinds.setdefault(node.value.id, ARRAY)
        if isinstance(node, ast.Call) and called_name(node) == "range":
            whole = node.args
        for inner in (inner for part in whole for inner in ast.walk(part)):
            if isinstance(inner, ast.Name):
                self.kinds.setdefault(inner.id, WHOLE)

    def note_value(self, node: ast.AST) -> None:
        """What the value that a name is given says of it."""
        if isinstance(node, ast.For) and called_name(node.iter) == "range":
            for name in names_in(node.target):
                self.kinds.setdefault(name, WHOLE)
        for target, value in pairs_of(node) if isinstance(node, ast.Assign) else ():
            kind = self.kind_of(value)
            if kind and isinstance(target, ast.Name):
                self.kinds.setdefault(target.id, kind)

    def kind_of(self, node: ast.expr) -> str:
        """The kind of an expression; "" if its text does not tell."""
        if isinstance(node, ast.Constant):
            return WHOLE if isinstance(node.value, int) else NUMBER
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id, "")
        if isinstance(node, ast.Attribute):
            return WHOLE if GRID & set(names_in(node)) or node.attr == "size" else ""
        if isinstance(node, ast.Subscript):
            shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            return WHOLE if shape else NUMBER
        if isinstance(node, ast.Call):
            name = called_name(node)
            return ARRAY if name == "array" else WHOLE if name in WHOLE_CALLS else ""
        if not isinstance(node, ast.BinOp):
            return ""
        if isinstance(node.op, (ast.Div, *WHOLE_OPERATORS)):
            return NUMBER if isinstance(node.op, ast.Div) else WHOLE
        kinds = {self.kind_of(node.left), self.kind_of(node.right)}
        return NUMBER if NUMBER in kinds else WHOLE if kinds == {WHOLE} else ""

    def alike(self, name: str, line: int) -> list[str]:
        """The names that could stand in this line for `name`, the nearest first."""
        found = [
            other
            for other, since in self.known.items()
            if since <= line and other not in (name, "_", *self.called) and self.fit(name, other)
        ]
        return sorted(found, key=lambda other: distance(name, other))[:MOST_ALIKE]

    def fit(self, name: str, other: str) -> bool:
        """Whether two names may stand for the same kind of thing."""
        mine, theirs = self.kinds.get(name, ""), self.kinds.get(other, "")
        if mine == theirs == ARRAY:
            dimensions = {self.dimensions.get(name), self.dimensions.get(other)} - {None}
            return len(dimensions) < 2
        return mine == theirs or (ARRAY not in (mine, theirs) and "" in (mine, theirs))


def distance(name: str, other: str) -> int:
    """How unlike two names are: 0 for opposites and for a letter's difference, 1 for a word's."""
    words, others = name.split("_"), other.split("_")
    if len(words) == len(others):
        pairs = [pair for pair in zip(words, others, strict=True) if len(set(pair)) > 1]
        if len(pairs) == 1 and any(set(pairs[0]) <= opposites for opposites in OPPOSITES):
            return 0
    if len(name) == len(other) and sum(a != b for a, b in zip(name, other, strict=True)) == 1:
        return 0
    return 1 if set(words) & set(others) or len(name) == len(other) else 2


def body_of(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function, without its docstring."""
    return function.body[ast.get_docstring(function) is not None :]


def called_name(node: ast.AST) -> str:
    """The last part of the name that a call calls, such as "grid" of cuda.grid(1); "" if none."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def names_in(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def pairs_of(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of an assignment, of `a, b = c, d` one by one."""
    for target in node.targets:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if len(values) == 1:
            values = values * len(targets)
        if len(values) == len(targets):
            yield from zip(targets, values, strict=True)
