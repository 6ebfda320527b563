"""Threads that set elements to a constant for others, which then change them."""

import ast

from .changes import change_of
from .places import Side, parents_in, parents_of, sets_a_constant, statement_at


def clears_for_all(now: Side, former: Side) -> bool:
    """Whether one thread sets in a loop what each thread reads once: it cleans up for others."""
    stored, read = (now, former) if now.kind == "write" else (former, now)
    if not sets_a_constant(stored):
        return False
    parents = parents_in(stored.source.tree)
    in_a_loop = [
        any(isinstance(parent, (ast.For, ast.While)) for parent in parents_of(parents, side.node))
        for side in (stored, read)
    ]
    return in_a_loop == [True, False]


def clears_where_others_change(now: Side, former: Side) -> bool:
    """Whether one thread sets to a constant what another one changes by what it holds."""
    stored, read = (now, former) if now.kind == "write" else (former, now)
    change = change_of(statement_at(read))
    return sets_a_constant(stored) and change is not None and is_part(read.node, change[0])


def is_part(node: ast.AST, element: ast.Subscript) -> bool:
    """Whether what is read is the element itself, or the same again in the statement."""
    return isinstance(node, ast.Subscript) and ast.unparse(node) == ast.unparse(element)
