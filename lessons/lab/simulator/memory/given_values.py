"""Races of an atomic with a reading whose value it is given, as in `add(counts, k, counts[k] + 1)`.

An atomic reads the element by itself. Who reads it before, too, has taken it for a store.
"""

import ast
from collections.abc import Iterator

from ...names import CudaName, resolve
from .places import Side

# Atomics that combine the element with what they are given: to those, the old value is no use.
COMBINES = {
    "atomic.add": "adds", "atomic.sub": "subtracts", "atomic.max": "compares",
    "atomic.min": "compares", "atomic.nanmax": "compares", "atomic.nanmin": "compares",
}  # fmt: skip
ARGUMENTS = 3  # array, index, value


def new_value_given(now: Side, former: Side) -> str:
    """Advice if an atomic is given a new value, made of the element that it changes; else ""."""
    if now.source is not former.source or now.atomic == former.atomic:
        return ""
    atomic, read = (now.node, former) if now.atomic else (former.node, now)
    if not isinstance(atomic, ast.Call) or not isinstance(read.node, ast.Subscript):
        return ""
    name = resolve(now.source, atomic.func)
    path = name.path if isinstance(name, CudaName) else ""
    if read.kind != "read" or path not in COMBINES or len(atomic.args) != ARGUMENTS:
        return ""
    array, index, value = atomic.args
    element = ast.unparse(read.node)
    if element != f"{ast.unparse(array)}[{text_of_index(index)}]":
        return ""
    made_of = list(parts_with_names(value, now.source.tree))
    if not any(part is read.node for part in made_of):
        return ""
    what = f"cuda.{path} reads {element} and {COMBINES[path]} by itself"
    given = what_is_added(made_of, read.node, now.source.tree) if path == "atomic.add" else ""
    only = f"only what is to be added, {given}" if given else "only the number that comes to it"
    return f"{what}: give it {only}, and no new value made of {element}"


def text_of_index(index: ast.expr) -> str:
    """As it stands between square brackets."""
    return ast.unparse(ast.Subscript(ast.Name("x"), index))[2:-1]


def parts_with_names(value: ast.expr, tree: ast.FunctionDef) -> Iterator[ast.AST]:
    """All parts of a value, and of what is assigned to the names in it."""
    seen: set[str] = set()
    waiting = [value]
    while waiting:
        for part in ast.walk(waiting.pop()):
            yield part
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                waiting += values_of(part.id, tree)


def values_of(name: str, tree: ast.FunctionDef) -> list[ast.expr]:
    """What is assigned to a name."""
    found = []
    for part in ast.walk(tree):
        if isinstance(part, (ast.Assign, ast.AugAssign)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                found.append(part.value)
    return found


def what_is_added(parts: list[ast.AST], element: ast.Subscript, tree: ast.FunctionDef) -> str:
    """ "1" where the value is made as `element + 1`, also by way of a name; else ""."""

    def is_old(operand: ast.expr) -> bool:
        named = values_of(operand.id, tree) if isinstance(operand, ast.Name) else []
        return operand is element or (len(named) == 1 and named[0] is element)

    sums = [p for p in parts if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Add)]
    for sum_ in sums:
        for old, more in ((sum_.left, sum_.right), (sum_.right, sum_.left)):
            if is_old(old):
                return ast.unparse(more)
    return ""
