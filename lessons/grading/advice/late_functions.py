"""Functions that are made in a loop, and read the loop's names only when they are called."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress

FUNCTIONS = (ast.Lambda, ast.FunctionDef)


def read_too_late(lines: Sequence[str]) -> str:
    """A sentence about the first such function of a file; "" if there is none.

    lines: of the file. It is for results of which the last round's numbers stand for all.
    """
    with suppress(SyntaxError, ValueError):
        for loop in ast.walk(ast.parse("\n".join(lines))):
            if not isinstance(loop, ast.For):
                continue
            for function in made_in(loop):
                names = sorted(names_read(function) & names_given(loop))
                if names:
                    return (
                        f"Line {function.lineno} makes a function in a loop. It reads "
                        f"{' and '.join(names)} when it is called, not when it is made, and when "
                        "the loop is over these have the values of its last round: call in the "
                        "loop, at once, what this function would call."
                    )
    return ""


def made_in(loop: ast.For) -> Iterator[ast.Lambda | ast.FunctionDef]:
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, FUNCTIONS):
                yield node


def names_given(loop: ast.For) -> set[str]:
    """The names that get a new value in each round."""
    return {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def names_read(function: ast.Lambda | ast.FunctionDef) -> set[str]:
    """Those that it reads when it is called: not its arguments, nor their defaults."""
    body = function.body if isinstance(function.body, list) else [function.body]
    nodes = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Name)]
    given = function.args
    own = {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    own |= {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes} - own
