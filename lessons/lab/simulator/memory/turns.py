"""Races of one round of a loop with the next one: a second barrier, or halves that take turns."""

import ast
from collections.abc import Iterator

from ...names import resolve
from ...source import called_source
from .origins import comes_from, depends_on_thread, names_from, names_given_in
from .places import Side, barriers_in, common_loop, line_of
from .two_buffers import buffer_of, has_two


def in_kernel(side: Side) -> Side | None:
    """Where the kernel calls the function of an access; None if that is not one certain place."""
    kernel = side.kernel
    if kernel is None or side.source is kernel:
        return None if kernel is None else side
    calls = [
        node
        for node in ast.walk(kernel.tree)
        if isinstance(node, ast.Call)
        and (called := called_source(resolve(kernel, node.func))) is not None
        and called.function is side.source.function
    ]
    if len(calls) > 1:
        calls = [call for call in calls if side.memory.name in map(ast.unparse, call.args)]
    return side._replace(source=kernel, node=calls[0]) if len(calls) == 1 else None


def next_round_too_early(now: Side, former: Side) -> str:
    """What to do where a barrier lies between two lines of a loop, and none behind them; else "".

    now: of a later round than `former`, in the same function.
    """
    loop = common_loop(now, former)
    begin, end = line_of(now.node), line_of(former.node)
    if loop is None or not any(begin <= line <= end for line in barriers_in(loop)):
        return ""
    why = (
        f"the barrier between lines {begin} and {end} is not enough, because the next round of the "
        "loop begins without one"
    )
    barrier = f"put a second cuda.syncthreads() at the end of the loop of line {loop.lineno}"
    name = next(turning_names(now.source.tree, loop), "")
    left_out = lines_without(name, now, former) if name else ""
    if not left_out or takes_its_own_turns(now, former, loop):
        return f"{why}: {barrier}"
    return (
        f"{why}. `{name}` changes from round to round, and {left_out} it for {now.memory.name}: "
        f"are two parts of {now.memory.name} to take turns? If not, {barrier}"
    )


def takes_its_own_turns(now: Side, former: Side, loop: ast.For | ast.While) -> bool:
    """Whether the array has two buffers, and each line picks one that changes with the rounds."""
    if not has_two(now):
        return False
    changed = names_given_in(loop)
    picks = [buffer_of(side) for side in (now, former)]
    return all(pick is not None and names_of(pick) & changed for pick in picks)


def names_of(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def turning_names(tree: ast.FunctionDef, loop: ast.For | ast.While) -> Iterator[str]:
    """Names that a loop gives one of two values in turn: `top = DEPTH - top`, `half = k % 2`."""
    changed = names_given_in(loop)
    for node in ast.walk(loop):
        turns = False
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            turns = takes_turns(node.value, node.targets[0], changed)
        elif isinstance(node, ast.AugAssign):
            turns = isinstance(node.op, ast.BitXor)
        if turns and not depends_on_thread(tree, node):
            yield from sorted(names_given_in(node))


def takes_turns(value: ast.expr, target: ast.expr, changed: frozenset[str]) -> bool:
    """Whether a name is given its other value, or what is left of a division of a round."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        names = [ast.unparse(part) for part in target.elts]
        return len(names) == 2 and names[::-1] == [ast.unparse(part) for part in value.elts]
    name = ast.unparse(target)
    for part in ast.walk(value):
        if not isinstance(part, ast.BinOp):
            continue
        left, right = ast.unparse(part.left), ast.unparse(part.right)
        if isinstance(part.op, ast.Sub) and right == name:
            return True
        if isinstance(part.op, ast.BitXor) and name in (left, right):
            return True
        of_round = any(isinstance(n, ast.Name) and n.id in changed for n in ast.walk(part.left))
        odd = isinstance(part.op, ast.BitAnd) and right == "1"
        if of_round and (isinstance(part.op, ast.Mod) or odd):
            return True
    return False


def lines_without(name: str, now: Side, former: Side) -> str:
    """ "line 7 does not use", or "lines 7 and 9 do not use"; "" if both do."""

    def is_it(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == name

    names = names_from(now.source.tree, is_it)
    sides = (side for side in (now, former) if not comes_from(side.node, names, is_it))
    lines = sorted({line_of(side.node) for side in sides})
    if not lines:
        return ""
    listed = " and ".join(map(str, lines))
    return f"lines {listed} do not use" if len(lines) > 1 else f"line {listed} does not use"
