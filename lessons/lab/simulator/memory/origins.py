"""Where a kernel's numbers come from, as its text tells: from memory, or from a thread's number."""

import ast
import functools
from collections.abc import Callable

from ...source import Source
from .places import Side, parents_in, parents_of

# What differs from thread to thread: positions, arrays of its own, what others have given to it.
OF_A_THREAD = ("threadIdx", "grid", "laneid", "local", "atomic")


def chosen_by_data(source: Source, element: ast.Subscript) -> bool:
    """Whether an index comes from memory, as that of a histogram does: any thread may have it."""
    return comes_from(element.slice, loaded_names(source.tree), is_load)


def added_by_all(side: Side, element: ast.Subscript, value: ast.expr) -> bool:
    """Whether all threads of a block add the same numbers from memory, which then count often.

    side: where they do. element, value: to what, and what is added. Constants do not count:
    `count[0] += 1` is right where each thread counts for itself.
    """
    tree = side.source.tree
    if not any(map(is_load, ast.walk(value))):
        return False
    if depends_on_thread(tree, value) or depends_on_thread(tree, element.slice):
        return False
    around = parents_of(parents_in(tree), side.node)
    tests = (parent.test for parent in around if isinstance(parent, (ast.If, ast.While)))
    return not any(depends_on_thread(tree, test) for test in tests)


def depends_on_thread(tree: ast.FunctionDef, node: ast.AST) -> bool:
    return comes_from(node, names_of_threads(tree), is_of_thread)


@functools.lru_cache(maxsize=64)
def loaded_names(tree: ast.FunctionDef) -> frozenset[str]:
    """Names whose values come from memory."""
    return names_from(tree, is_load)


@functools.lru_cache(maxsize=64)
def names_of_threads(tree: ast.FunctionDef) -> frozenset[str]:
    """Names whose values differ from thread to thread."""
    return names_from(tree, is_of_thread)


def names_from(tree: ast.FunctionDef, begins: Callable[[ast.AST], bool]) -> frozenset[str]:
    """Names that are given a value in which `begins` is true of a part, or of such a name."""
    found: frozenset[str] = frozenset()
    while True:
        more = found
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
                value = node.value
            else:
                value = node.iter if isinstance(node, ast.For) else None
            if value is not None and comes_from(value, more, begins):
                targets = node.target if isinstance(node, ast.For) else node
                more |= names_given_in(targets)
        if more == found:
            return found
        found = more


def comes_from(node: ast.AST, names: frozenset[str], begins: Callable[[ast.AST], bool]) -> bool:
    parts = list(ast.walk(node))
    used = {part.id for part in parts if isinstance(part, ast.Name)}
    return bool(used & names) or any(map(begins, parts))


def is_load(node: ast.AST) -> bool:
    """Whether it reads an element: `values[i]`, and not `values.shape[0]`."""
    if not isinstance(node, ast.Subscript):
        return False
    return not (isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"))


def is_of_thread(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in OF_A_THREAD or str(name).startswith("shfl")


def names_given_in(node: ast.AST) -> frozenset[str]:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return frozenset(part.id for part in names if isinstance(part.ctx, ast.Store))
