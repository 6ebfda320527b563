"""What a function waits for: barriers, shuffles, votes, and memory that another thread writes."""

import ast
from collections.abc import Iterator

from ..names import CudaName
from ..source import Source, is_element, names_given_in, names_in
from .meanings import calls, meaning, reached
from .warps import BARRIER, CONVERGED, GRID, IN_WARP, SPINNING

WAITS = {
    **dict.fromkeys(
        ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or"), BARRIER
    ),
    **dict.fromkeys(
        (
            "syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
            "ballot_sync", "all_sync", "any_sync", "eq_sync", "match_any_sync", "match_all_sync",
        ),
        IN_WARP,
    ),
    "activemask": CONVERGED,
    "grid_group.sync": GRID,
}  # fmt: skip
# Of a loop that does no other atomic than these, each round is like the one before.
REPEATABLE = ("cas", "exch", "compare_and_swap")


def waits_in(source: Source) -> set[int]:
    """What a function and those that it calls wait for."""
    return {wait for function in reached(source) for wait in own_waits(function)}


def own_waits(source: Source) -> Iterator[int]:
    for _, target, _ in calls(source):
        if isinstance(target, CudaName) and target.path in WAITS:
            yield WAITS[target.path]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.While) and is_spinning(source, node):
            yield SPINNING


def is_spinning(source: Source, loop: ast.While) -> bool:
    """Whether a loop only looks at memory until another thread has changed it.

    Nothing is carried from one of its rounds to the next, and none of them stores anything.
    """
    nodes = list(ast.walk(loop))
    inner = (ast.AugAssign, ast.While, ast.For, ast.Delete, ast.Raise, ast.Assert, ast.Return)
    if any(isinstance(node, inner) for node in nodes if node is not loop):
        return False
    looks = [node for node in nodes if isinstance(node, (ast.Subscript, ast.Call))]
    if not all(only_looks(source, node) for node in looks):
        return False
    return any(looks_at_memory(source, node) for node in looks) and not carries(loop)


def only_looks(source: Source, node: ast.Subscript | ast.Call) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load)
    target = meaning(source, node.func)
    if not isinstance(target, CudaName):
        return callable(target) and getattr(target, "__module__", "") in ("builtins", "math")
    if target.path in WAITS or target.path.startswith("st"):
        return False
    kind, _, operation = target.path.partition(".")
    if kind != "atomic" or operation in REPEATABLE:
        return True
    added = node.args[2] if len(node.args) == 3 else None
    return operation == "add" and isinstance(added, ast.Constant) and added.value == 0


def looks_at_memory(source: Source, node: ast.Subscript | ast.Call) -> bool:
    if isinstance(node, ast.Subscript):
        return is_element(node)
    target = meaning(source, node.func)
    return isinstance(target, CudaName) and target.path.startswith(("atomic.", "ld"))


def carries(loop: ast.While) -> bool:
    """Whether a variable that one round assigns is part of what the next one computes."""
    known: set[str] = set()  # assigned in this round already
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and names_in(node.value) & names_given_in(loop) - known:
                return True
        if isinstance(statement, ast.Assign):
            known |= names_given_in(statement)
    return False
