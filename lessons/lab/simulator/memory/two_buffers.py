"""Two buffers that should take turns, and do not: `start % 2`, where start goes in steps of 16."""

import ast
from collections.abc import Iterator

from ...source import Source
from .places import Side, line_of, parents_in, parents_of


def has_two(side: Side) -> bool:
    """Whether an array holds two buffers, one behind the other."""
    shape = side.memory.shape
    return len(shape) > 1 and shape[0] == 2


def no_turns(now: Side, former: Side) -> str:
    """Why both sides are in one buffer in each round of a loop; "" if that is not so.

    That is a remainder of a loop's variable whose steps leave it as it is.
    """
    if now.source is not former.source or not has_two(now):
        return ""
    picks = [buffer_of(side) for side in (now, former)]
    if picks[0] is None or picks[1] is None or ast.unparse(picks[0]) != ast.unparse(picks[1]):
        return ""
    pick = picks[0]
    name = ast.unparse(pick)
    for value, line in values_of(now.source.tree, pick):
        step = step_of(now, value)
        if step:
            rounds, length = step
            return (
                f"`{name}` is the same in each round (line {line}): {rounds} goes on in steps of "
                f"{length}, so the two buffers never take turns. {rounds} // {length} counts the "
                "rounds, and its remainder by 2 does"
            )
    return ""


def buffer_of(side: Side) -> ast.expr | None:
    """The first of the indices of an element."""
    if not isinstance(side.node, ast.Subscript):
        return None
    index = side.node.slice
    return index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index


def values_of(tree: ast.FunctionDef, pick: ast.expr) -> Iterator[tuple[ast.expr, int]]:
    """What an index is computed of, and in which line: the one value that its name is given."""
    if not isinstance(pick, ast.Name):
        yield pick, line_of(pick)
        return
    given = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AugAssign))
        and any(
            isinstance(part, ast.Name) and part.id == pick.id and isinstance(part.ctx, ast.Store)
            for part in ast.walk(node)
        )
    ]
    if len(given) == 1 and isinstance(given[0], ast.Assign):
        yield given[0].value, given[0].lineno


def step_of(side: Side, value: ast.expr) -> tuple[str, int] | None:
    """For `start % 2`: start, and its steps in a loop around, if they are even."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.left, ast.Name):
        return None
    two = isinstance(value.op, ast.Mod) and is_number(value.right, 2)
    if not two and not (isinstance(value.op, ast.BitAnd) and is_number(value.right, 1)):
        return None
    for loop in parents_of(parents_in(side.source.tree), side.node):
        if not isinstance(loop, ast.For) or ast.unparse(loop.target) != value.left.id:
            continue
        call = loop.iter
        if not isinstance(call, ast.Call) or len(call.args) != 3:
            return None
        step = number_of(side.source, call.args[2])
        return (value.left.id, step) if step and step % 2 == 0 else None
    return None


def number_of(source: Source, node: ast.expr) -> int | None:
    """A whole number that stands there, or in a name of the module."""
    if isinstance(node, ast.Name):
        value = source.function.__globals__.get(node.id)
    else:
        value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) else None


def is_number(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number
