"""Shared memory that is stored at an index of the whole grid: each block has an array of its own.

Where an index counts over blocks, a block stores only a part of what it reads: the rest is stored
in the arrays of other blocks, or by no block at all.
"""

import ast
from collections.abc import Iterator, Sequence

from lessons.course.source_text import syntax_tree

MOST_STEPS = 4  # from a name to what it is computed of
BACK = (ast.Mod, ast.BitAnd, ast.Sub)  # what makes a number of the grid one of a block again


def stored_by_number_of_block(array: str, line: int, source: Sequence[str]) -> str:
    """Advice if the function around a line stores into a shared array so; else ""."""
    tree = syntax_tree("\n".join(source))
    for function in tree.body if tree else ():
        if not isinstance(function, ast.FunctionDef):
            continue
        if not function.lineno <= line <= (function.end_lineno or 0):
            continue
        for store in stores_into(function, array):
            indices = store.slice.elts if isinstance(store.slice, ast.Tuple) else [store.slice]
            for index in indices:
                made = of_block(function, index, MOST_STEPS)
                if made is not None:
                    return told(array, store.lineno, made)
    return ""


def told(array: str, line: int, made: ast.expr) -> str:
    where = f" (line {made.lineno})" if made.lineno != line else ""
    return (
        f"line {line} stores into {array} at an index that is made of {ast.unparse(made)}{where}, "
        f"and each block has an array {array} of its own: what a block reads from it, its own "
        "threads have to store, in a loop if there is more of it than threads"
    )


def stores_into(function: ast.FunctionDef, array: str) -> Iterator[ast.Subscript]:
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == array:
                yield node


def of_block(function: ast.FunctionDef, value: ast.expr, steps: int) -> ast.expr | None:
    """Where a value has the number of a block in it, by way of names with one value each."""
    parts = list(ast.walk(value))
    if any(isinstance(part, ast.BinOp) and isinstance(part.op, BACK) for part in parts):
        return None
    for part in parts:
        if isinstance(part, ast.Attribute) and ast.unparse(part).startswith("cuda.blockIdx."):
            return part
        if isinstance(part, ast.Call) and ast.unparse(part) == "cuda.grid(1)":
            return part
    for part in parts if steps else ():
        given = only_value(function, part.id) if isinstance(part, ast.Name) else None
        found = of_block(function, given, steps - 1) if given is not None else None
        if found is not None:
            return found
    return None


def only_value(function: ast.FunctionDef, name: str) -> ast.expr | None:
    """What a name is given, if that is one value in one place."""
    stores = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    given = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and node.targets[0] in stores
    ]
    return given[0] if len(stores) == len(given) == 1 else None
