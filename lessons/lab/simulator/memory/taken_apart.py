"""Whether row and column were taken out of one number with the length of a column."""

import ast
from collections.abc import Iterator, Sequence

import numpy as np

from ..frames import Frame
from .arrays import ArrayView

DIVISIONS = (ast.FloorDiv, ast.Mod)


def taken_apart(index: ast.expr | None, lengths: Sequence[int], frame: Frame) -> str:
    """Why `index` is outside: "row and column are taken out of `n` ..."; "" if they are not.

    index: of an array of these lengths, with an index for each axis.
    """
    if not isinstance(index, ast.Tuple) or len(index.elts) < 2 or len(lengths) < 2:
        return ""
    whole, rest = (made_by(part, frame) for part in index.elts[:2])
    if not whole or not rest or not isinstance(whole.op, ast.FloorDiv):
        return ""
    number, divisor = ast.unparse(whole.left), ast.unparse(whole.right)
    same = (number, divisor) == (ast.unparse(rest.left), ast.unparse(rest.right))
    length = value_of(whole.right, frame)
    # Any other divisor may be the width of a tile that is too large.
    if not isinstance(rest.op, ast.Mod) or not same or length != lengths[0] != lengths[1]:
        return ""
    return (
        f"Row and column are taken out of `{number}` with `{divisor}`, which is {length}, the "
        f"number of rows. But a row has {lengths[1]} elements: `//` and `%` need that length, and "
        "so does whatever counts the elements row by row."
    )


def made_by(node: ast.expr, frame: Frame) -> ast.BinOp | None:
    """The division that an index is, or that a name in its place was given."""
    found = node
    if isinstance(node, ast.Name):
        given = [value for name, value in assigned(frame.source.tree) if name == node.id]
        if len(given) != 1:
            return None
        found = given[0]
    if isinstance(found, ast.BinOp) and isinstance(found.op, DIVISIONS):
        return found
    return None


def assigned(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Names and what they are given, also in `row, column = n // width, n % width`, and divmod."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Tuple):
                names = [part.id for part in target.elts if isinstance(part, ast.Name)]
                if len(names) == len(target.elts):
                    yield from zip(names, parts_of(node.value), strict=False)


def parts_of(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Tuple):
        return value.elts
    divides = isinstance(value, ast.Call) and ast.unparse(value.func) == "divmod"
    if isinstance(value, ast.Call) and divides and len(value.args) == 2:
        left, right = value.args
        return [ast.BinOp(left, operator(), right) for operator in DIVISIONS]
    return []


def value_of(node: ast.expr, frame: Frame) -> int | None:
    """A variable that is the same in all threads, or a length; None if it is not known."""
    value: object
    if isinstance(node, ast.Name) and node.id in frame.variables:
        value = frame.variables[node.id].value
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        value = length_of(node.value, node.slice.value, frame)
    else:
        return None
    return int(value) if isinstance(value, (int, np.integer)) else None


def length_of(node: ast.expr, axis: object, frame: Frame) -> object:
    """`array.shape[axis]` of an array that the function knows by a name."""
    if not isinstance(node, ast.Attribute) or node.attr != "shape":
        return None
    variable = frame.variables.get(ast.unparse(node.value))
    view = variable.value if variable else None
    if isinstance(view, ArrayView) and isinstance(axis, int) and axis < len(view.shape):
        return view.shape[axis]
    return None
