"""Which line of a kernel sets elements of one of its arguments, to zero or to anything."""

import ast
from collections.abc import Callable, Sequence

from lessons.course.source_text import syntax_tree


def line_that_clears(kernel: str, argument: int, source: Sequence[str]) -> int | None:
    """The one line that does; None if there is none, or several.

    argument: its number, from 0.
    """
    return line_of_one(sets_to_zero, kernel, argument, source)


def line_that_stores(kernel: str, argument: int, source: Sequence[str]) -> int | None:
    """The one line in which it stores to this array with `=`, whatever it is; None as above."""
    return line_of_one(stores_to, kernel, argument, source)


def line_of_one(
    fits: Callable[[ast.Assign, str], bool], kernel: str, argument: int, source: Sequence[str]
) -> int | None:
    function = function_with(kernel, argument, source)
    if not function:
        return None
    name = function.args.args[argument].arg
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    lines = [node.lineno for node in nodes if fits(node, name)]
    return lines[0] if len(lines) == 1 else None


def function_with(name: str, argument: int, source: Sequence[str]) -> ast.FunctionDef | None:
    """The one function of a file with this name, if it has so many arguments."""
    tree = syntax_tree("\n".join(source))
    body = tree.body if tree else []
    found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == name]
    if len(found) != 1 or argument >= len(found[0].args.args):
        return None
    return found[0]


def sets_to_zero(node: ast.Assign, array: str) -> bool:
    return is_zero(node.value) and stores_to(node, array)


def stores_to(node: ast.Assign, array: str) -> bool:
    return any(
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id == array
        for target in node.targets
    )


def is_zero(value: ast.expr) -> bool:
    """Whether it is 0, 0.0 or float32(0)."""
    if isinstance(value, ast.Call) and len(value.args) == 1:
        return is_zero(value.args[0])
    return isinstance(value, ast.Constant) and value.value == 0
