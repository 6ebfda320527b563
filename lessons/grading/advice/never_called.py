"""Why a function was never called, though a line of the file calls it."""

import ast
from collections.abc import Sequence

from lessons.course.source_text import syntax_tree


def condition_of_call(name: str, source: Sequence[str]) -> str:
    """A sentence on the `if` that the one call of `something.name(...)` stands under; else ""."""
    tree = syntax_tree("\n".join(source))
    nodes = list(ast.walk(tree)) if tree else []
    calls = [node for node in nodes if isinstance(node, ast.Call) and is_of_name(node.func, name)]
    if len(calls) != 1:
        return ""
    conditions = [node for node in nodes if isinstance(node, ast.If)]
    around = [one for one in conditions if within([*one.body, *one.orelse], calls[0])]
    if not around:
        return ""
    inner = max(around, key=lambda node: node.lineno)
    way = "under" if within(inner.body, calls[0]) else "under the `else` of"
    return (
        f" Line {calls[0].lineno} calls it, but only {way} the `if` of line {inner.lineno}: it is "
        "needed each time, whatever that finds."
    )


def is_of_name(function: ast.expr, name: str) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == name


def within(statements: Sequence[ast.stmt], call: ast.AST) -> bool:
    return any(part is call for statement in statements for part in ast.walk(statement))
