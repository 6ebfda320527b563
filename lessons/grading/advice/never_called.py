"""Where the text of a file calls a function, and under which condition."""

import ast
from collections.abc import Sequence

from lessons.course.source_text import syntax_tree


def lines_of_calls(name: str, source: Sequence[str]) -> list[int]:
    """Where a file calls `something.name(...)`."""
    return [call.lineno for call in calls_of(name, nodes_of(source))]


def condition_of_call(name: str, source: Sequence[str]) -> str:
    """A sentence on the `if` that the one call of `something.name(...)` stands under; else ""."""
    nodes = nodes_of(source)
    calls = calls_of(name, nodes)
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


def nodes_of(source: Sequence[str]) -> list[ast.AST]:
    tree = syntax_tree("\n".join(source))
    return list(ast.walk(tree)) if tree else []


def calls_of(name: str, nodes: Sequence[ast.AST]) -> list[ast.Call]:
    return [node for node in nodes if isinstance(node, ast.Call) and is_of_name(node.func, name)]


def is_of_name(function: ast.expr, name: str) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == name


def within(statements: Sequence[ast.stmt], call: ast.AST) -> bool:
    return any(part is call for statement in statements for part in ast.walk(statement))
