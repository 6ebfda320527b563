"""Whether threads have to meet after a place: none of them may return there."""

import ast
from collections.abc import Iterable, Iterator

from ...names import CudaName, resolve
from ...source import Source, called_source

# What all threads of a block, of a warp or of the grid have to come to.
MEETINGS = (
    "syncthreads", "syncwarp", "shfl", "ballot_sync", "all_sync", "any_sync", "eq_sync", "match",
    "grid_group",
)  # fmt: skip


def meets_later(places: Iterable[tuple[Source, int]]) -> bool:
    """Whether threads meet after a line, or in a loop around it.

    places: the line in the function that is running, then where that is called, up to the kernel.
    """
    return any(meets_after(source, line) for source, line in places)


def meets_after(source: Source, line: int) -> bool:
    loops = (node for node in ast.walk(source.tree) if isinstance(node, (ast.For, ast.While)))
    around = [loop for loop in loops if loop.lineno <= line <= (loop.end_lineno or line)]
    begin = min((loop.lineno for loop in around), default=line)
    return any(meeting > begin for meeting in lines_of_meetings(source, frozenset()))


def lines_of_meetings(source: Source, callers: frozenset[object]) -> Iterator[int]:
    """Lines where threads meet, there or in a function that is called there.

    callers: the functions that have called it; one that calls itself is looked at once.
    """
    callers = callers | {source.function}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and meets(source, node, callers):
            yield node.lineno


def meets(source: Source, call: ast.Call, callers: frozenset[object]) -> bool:
    called = resolve(source, call.func)
    if isinstance(called, CudaName):
        return called.path.startswith(MEETINGS)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "sync":  # of `this_grid()`
        return True
    inner = called_source(called)
    if inner is None or inner.function in callers:
        return False
    return any(lines_of_meetings(inner, callers))
