"""Which index is meant to be negative."""

import ast

import numpy as np

from ...source import Source


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
