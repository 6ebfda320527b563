"""Whether a file's loops store results, and whether conditions may stop some of its threads."""

import ast
from collections.abc import Sequence

OWN_ARRAYS = {"cuda.shared.array", "cuda.local.array"}


def stores_in_loops(functions: Sequence[ast.FunctionDef]) -> bool:
    """Whether one of their loops stores elsewhere than in shared or local memory, so far as seen.

    Only what is certainly none counts as none.
    """
    named = {function.name: function for function in functions}
    for function in functions:
        loops = (node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While)))
        for node in (part for loop in loops for part in ast.walk(loop)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called = named.get(node.func.id)
                if called and any(
                    stores_outside(called, one, functions) for one in ast.walk(called)
                ):
                    return True
            if stores_outside(function, node, functions):
                return True
    return False


def has_conditions(functions: Sequence[ast.FunctionDef]) -> bool:
    return any(isinstance(node, ast.If) for one in functions for node in ast.walk(one))


def only_loop_around(line: int, functions: Sequence[ast.FunctionDef]) -> int:
    """The line of the one loop that this line is in; 0 if it is in none, or in several."""
    nodes = (node for function in functions for node in ast.walk(function))
    heads = {
        node.lineno
        for node in nodes
        if isinstance(node, (ast.For, ast.While)) and node.lineno < line <= (node.end_lineno or 0)
    }
    return heads.pop() if len(heads) == 1 else 0


def stores_outside(
    function: ast.FunctionDef, node: ast.AST, functions: Sequence[ast.FunctionDef]
) -> bool:
    """Whether a part of a function stores an element, or adds to one, of an array from outside."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("cuda.atomic."):
        target: ast.expr | None = node.args[0] if node.args else None
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        target = node.value
    else:
        return False
    while isinstance(target, ast.Subscript):
        target = target.value
    return not (isinstance(target, ast.Name) and is_own(function, target.id, functions))


def is_own(function: ast.FunctionDef, name: str, functions: Sequence[ast.FunctionDef]) -> bool:
    """Whether an array is made in a kernel, also where that hands it to this function."""
    if name in made_in(function):
        return True
    parameters = [argument.arg for argument in function.args.args]
    if name not in parameters:
        return False
    place = parameters.index(name)
    given = [
        (caller, node.args[place] if place < len(node.args) else None)
        for caller in functions
        for node in ast.walk(caller)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == function.name
    ]
    return bool(given) and all(
        isinstance(value, ast.Name) and value.id in made_in(caller) for caller, value in given
    )


def made_in(function: ast.FunctionDef) -> set[str]:
    """The names that are given an array of shared or local memory in a function."""
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in OWN_ARRAYS
        for target in node.targets
        if isinstance(target, ast.Name)
    }
