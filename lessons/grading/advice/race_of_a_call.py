"""Where a barrier belongs if one line of a race is in a function that the other's one calls.

Such a function may be called from several lines, and the race tells its own line only.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from lessons.course.source_text import syntax_tree

OTHER_LINE = re.compile(r"\(line (\d+) of \w+.*: put cuda\.syncthreads\(\) between them")
Functions = dict[str, ast.FunctionDef]


def where_the_barrier_belongs(line: int, message: str, source: Sequence[str]) -> str:
    """Advice on a race of a line, if it is one call alone that no barrier divides from the other
    line; else "".
    """
    other = OTHER_LINE.search(message)
    tree = syntax_tree("\n".join(source))
    if other is None or tree is None:
        return ""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    inner_line = int(other[1])
    for here, inside in ((line, inner_line), (inner_line, line)):
        caller, called = around(functions, here), around(functions, inside)
        if caller is None or called is None or caller is called:
            return ""
        calls = lines_of_calls(caller, called.name, functions)
        if not calls:
            continue
        loops = [n for n in ast.walk(caller) if isinstance(n, (ast.For, ast.While))]
        if any(n.lineno <= here <= (n.end_lineno or 0) for n in loops):
            return ""  # the next round is behind this one
        barriers = lines_of_calls(caller, "syncthreads", functions)
        open_ = [one for one in calls if not any(between(one, n, here) for n in barriers)]
        if len(open_) != 1 or open_[0] in (here, *barriers):
            return ""
        first, last = sorted((open_[0], here))
        return (
            f"line {inside} runs here in the call of line {open_[0]}: the barrier belongs between "
            f"the lines {first} and {last}"
        )
    return ""


def around(functions: Functions, line: int) -> ast.FunctionDef | None:
    """The function that has this line."""
    has_it = (f for f in functions.values() if f.lineno <= line <= (f.end_lineno or 0))
    return next(has_it, None)


def between(one: int, barrier: int, other: int) -> bool:
    return min(one, other) < barrier < max(one, other)


def lines_of_calls(caller: ast.FunctionDef, name: str, functions: Functions) -> list[int]:
    """Where a function calls another one, or one of the file that does so in turn."""
    return sorted(
        {
            node.lineno
            for node in ast.walk(caller)
            if isinstance(node, ast.Call) and name in all_called(node.func, functions, set())
        }
    )


def all_called(called: ast.expr, functions: Functions, seen: set[str]) -> Iterator[str]:
    """The name of what is called, and of what that calls."""
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    yield name
    if name in functions and name not in seen:
        seen.add(name)
        for node in ast.walk(functions[name]):
            if isinstance(node, ast.Call):
                yield from all_called(node.func, functions, seen)
