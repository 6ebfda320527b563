"""Which type a variable has that a loop gives another one: for Numba it is one for all rounds."""

import ast
import functools

import numpy as np

from ...numba_types import FLOAT64, Number, convert
from ...source import Source
from ..frames import Variable

UNSIGNED = np.dtype(np.uint64)
Loops = tuple[ast.For | ast.While, ...]


def one_type_in_the_loop(
    source: Source, name: str, value: Number, former: Variable, node: ast.expr | ast.stmt
) -> Number:
    """`value` with the type of a variable that was an uint64 before a loop, and is signed in it.

    No whole number of 64 bits holds both, so Numba makes the variable a float64. The other way
    round it is the same.
    """
    before = former.value
    if not isinstance(before, (np.generic, np.ndarray)):
        return value
    kinds = {before.dtype, value.dtype}
    if UNSIGNED not in kinds or not any(kind.kind == "i" for kind in kinds):
        return value
    for loop in loops_around(source.tree, node.lineno):
        if former.line < loop.lineno and is_carried(loop, name, source):
            return convert(value, FLOAT64)
    return value


@functools.lru_cache(maxsize=256)
def loops_around(function: ast.FunctionDef, line: int) -> Loops:
    loops = (n for n in ast.walk(function) if isinstance(n, (ast.For, ast.While)))
    return tuple(loop for loop in loops if loop.lineno <= line <= last_line(loop))


def is_carried(loop: ast.For | ast.While, name: str, source: Source) -> bool:
    """Whether a round reads what the round before gave the variable, or the rest reads the last."""
    uses = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    stores = [place(n) for n in uses if isinstance(n.ctx, ast.Store)]
    statement = next((s for s in loop.body if any(is_store(n, name) for n in ast.walk(s))), None)
    if not stores or statement is None:
        return False
    end = (last_line(statement), statement.end_col_offset or 0)
    at_top = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign))
    if isinstance(statement, ast.AugAssign) and is_store(statement.target, name):
        return True
    read = [place(n) for n in uses if isinstance(n.ctx, ast.Load)]
    if any(one <= end or not at_top for one in read):
        return True
    return any(
        isinstance(n, ast.Name) and n.id == name and n.lineno > last_line(loop)
        for n in ast.walk(source.tree)
    )


def is_store(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def place(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
