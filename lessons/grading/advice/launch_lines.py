"""Where a file computes how many blocks a launch has."""

import ast
from collections.abc import Sequence

from lessons.course.source_text import syntax_tree

USUAL_BLOCK = "BLOCK"


def line_of_blocks(line: int, source: Sequence[str]) -> int:
    """The line that computes `blocks` of the launch `kernel[blocks, BLOCK](...)` in this line.

    The launch itself, if it has none of that form, or if blocks are computed in several lines.
    """
    tree = syntax_tree("\n".join(source))
    nodes = list(ast.walk(tree)) if tree else []
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and has(node, line)]
    names = [
        blocks_of(node) for node in nodes if isinstance(node, ast.Subscript) and has(node, line)
    ]
    known = {name for name in names if name}
    if len(functions) != 1 or len(known) != 1:
        return line
    made = [
        node.lineno
        for node in ast.walk(functions[0])
        if isinstance(node, ast.Assign) and any(names_one_of(t, known) for t in node.targets)
    ]
    return made[0] if len(made) == 1 and made[0] < line else line


def has(node: ast.FunctionDef | ast.Subscript, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def blocks_of(configured: ast.Subscript) -> str:
    """The name of the blocks in `kernel[blocks, BLOCK]` or `kernel[blocks, BLOCK, stream]`."""
    given = configured.slice.elts if isinstance(configured.slice, ast.Tuple) else []
    if len(given) < 2 or not names_one_of(given[1], {USUAL_BLOCK}):
        return ""
    return given[0].id if isinstance(given[0], ast.Name) else ""


def names_one_of(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names
