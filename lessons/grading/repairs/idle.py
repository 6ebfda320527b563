"""Lines that compute what nobody uses any more, once another line is changed."""

import ast
from collections.abc import Collection, Sequence

from lessons.grading.repairs.differences import given_names
from lessons.grading.repairs.lines import Line
from lessons.grading.repairs.source import Source
from lessons.grading.repairs.structure import idle_names


def lines_for_nothing(function: ast.FunctionDef, mine: Sequence[Line], text: str) -> list[int]:
    """The lines of a function, by their numbers, that are for nothing in a changed text.

    mine: its lines as they are.
    """
    idle = new_for_nothing(function, text)
    return [line.number for line in mine if given_names(line) & idle]


def new_for_nothing(function: ast.FunctionDef, text: str) -> set[str]:
    """The names that are for nothing in a changed text, and in the function as it is are not."""
    changed = Source(text).functions()[function.name]
    return names_for_nothing(changed) - names_for_nothing(function)


def new_unused(function: ast.FunctionDef, text: str) -> set[str]:
    """The same, of names that are nowhere used, not even for others."""
    changed = Source(text).functions()[function.name]
    return set(idle_names(changed)) - set(idle_names(function))


def names_for_nothing(function: ast.FunctionDef) -> set[str]:
    """Names that are given or computed, and never used, or only to compute others that are not."""
    needed: set[str] = set()
    while more := names_needed(function, needed) - needed:
        needed |= more
    given = {argument.arg for argument in function.args.args}
    names = given | names_with(function, ast.Store)
    return {name for name in names - needed if not name.startswith("_")}


def names_needed(node: ast.AST, needed: Collection[str]) -> set[str]:
    """Names that are read, but for those that something is computed of which is not needed."""
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        given = set().union(*(names_with(one, ast.Store) for one in targets))
        if given and given.isdisjoint(needed) and not any(map(stores_into_array, targets)):
            return set()
    if isinstance(node, ast.expr):
        return names_with(node, ast.Load)
    return set().union(*(names_needed(child, needed) for child in ast.iter_child_nodes(node)))


def names_with(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, context)}


def stores_into_array(target: ast.expr) -> bool:
    return any(isinstance(one, ast.Subscript) for one in ast.walk(target))
