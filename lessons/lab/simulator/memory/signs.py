"""Which index is meant to be negative."""

import ast
from collections.abc import Sequence

import numpy as np

from ...source import Source
from .arrays import ArrayView


def counts_from_end(source: Source, node: ast.expr, axis: int) -> bool:
    """Whether whoever wrote an index meant it to count from the end, as in `x[-1]`, `x[-1 - i]`.

    `x[i - 1]` in the first thread is a mistake; an index that begins with a minus, or the name of a
    negative constant, is not. node: the subscript, or the call of an atomic.
    """
    index = index_of(node)
    if isinstance(index, ast.Tuple):
        if axis >= len(index.elts):
            return False
        index = index.elts[axis]
    elif axis > 0:
        return False
    while isinstance(index, ast.BinOp):
        index = index.left
    if isinstance(index, ast.UnaryOp):
        return isinstance(index.op, ast.USub)
    if isinstance(index, ast.Name) and index.id not in source.function.__code__.co_varnames:
        value = source.lookup(index.id)
        return isinstance(value, (int, np.integer)) and bool(value < 0)
    return False


def index_of(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Subscript):
        return node.slice
    if isinstance(node, ast.Call) and len(node.args) > 1:
        return node.args[1]
    return None


def way_back_inside(
    node: ast.expr, view: ArrayView, axis: int, place: Sequence[int], uniform: bool
) -> str:
    """What to do about an index outside its array.

    place: the index of one thread. axis: where it is outside. uniform: whether the index there is
    the same in all threads.
    """
    index = index_of(node)
    if isinstance(index, ast.Tuple) and axis < len(index.elts):
        index = index.elts[axis]
    if isinstance(index, ast.Constant):
        return "That index is written out: indices count from 0."
    if place[axis] < 0:
        return "Keep it inside with max(index, 0), or leave it out with a guard."
    if uniform:
        return "It is the same in all threads: does a loop go on for too long?"
    if view.memory.space != "global":
        return "Is the array as large as its threads need?"
    guard = "Is a guard such as `if i >= n: return` missing, or off by one"
    lengths = view.shape[:2]
    if len(place) > 1 and all(0 <= i < n for i, n in zip(place[1::-1], lengths, strict=True)):
        return f"{guard}? Or are two indices exchanged?"
    return f"{guard}?"
