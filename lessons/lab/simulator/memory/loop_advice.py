"""Races of loops: between rounds, between two buffers, between blocks on the same elements."""

import ast
from collections.abc import Iterator

from ...source import Source, names_given_in, names_in, parts_of
from .data_flow import (
    comes_from,
    depends_on_thread,
    in_pieces_of_blocks,
    is_of_block,
    is_of_thread,
    names_from,
    values_by_name,
)
from .race_sides import Side, barriers_in, common_loop, has_two, is_constant, line_of

# ---------------------------------------------------------------- two buffers


def no_turns(now: Side, former: Side) -> str:
    """Why both sides are in one buffer in each round of a loop; "" if that is not so.

    That is a remainder of a loop's variable whose steps leave it as it is.
    """
    if now.source is not former.source or not has_two(now):
        return ""
    picks = [buffer_of(side) for side in (now, former)]
    if picks[0] is None or picks[1] is None or ast.unparse(picks[0]) != ast.unparse(picks[1]):
        return ""
    pick = picks[0]
    given = [pick]
    if isinstance(pick, ast.Name):
        given = values_by_name(now.source.tree).get(pick.id, [])
    step = step_of(now, given[0]) if len(given) == 1 else None
    if step is None:
        return ""
    (rounds, length), line = step, line_of(given[0])
    return (
        f"`{ast.unparse(pick)}` is the same in each round (line {line}): {rounds} goes on in steps "
        f"of {length}, so the two buffers never take turns. {rounds} // {length} counts the "
        "rounds, and its remainder by 2 does"
    )


def buffer_of(side: Side) -> ast.expr | None:
    """The first of the indices of an element."""
    if not isinstance(side.node, ast.Subscript):
        return None
    return next(iter(parts_of(side.node.slice)), side.node.slice)


def step_of(side: Side, value: ast.expr) -> tuple[str, int] | None:
    """For `start % 2`: start, and its steps in a loop around, if they are even."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.left, ast.Name):
        return None
    two = isinstance(value.op, ast.Mod) and is_constant(value.right, 2)
    if not two and not (isinstance(value.op, ast.BitAnd) and is_constant(value.right, 1)):
        return None
    for loop in side.around:
        if not isinstance(loop, ast.For) or ast.unparse(loop.target) != value.left.id:
            continue
        call = loop.iter
        if not isinstance(call, ast.Call) or len(call.args) != 3:
            return None
        step = number_of(side.source, call.args[2])
        return (value.left.id, step) if step and step % 2 == 0 else None
    return None


def number_of(source: Source, node: ast.expr) -> int | None:
    """A whole number that stands there, or in a name of the module."""
    if isinstance(node, ast.Name):
        value = source.function.__globals__.get(node.id)
    else:
        value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) else None


# ---------------------------------------------------------------- one round and the next one


def where_they_part(now: Side, former: Side, same_round: bool) -> tuple[Side, Side]:
    """Both sides in the function in which something can be put between them.

    That is the innermost one in which they are at two places, or in two rounds of a loop. There,
    each side is the access, or the call that leads to it. same_round: see `remedies.remedy`.
    """
    paths = [[*side.calls, (side.source, side.node)] for side in (now, former)]
    levels = [
        (now._replace(source=source, node=node), former._replace(source=source, node=other))
        for (source, node), (there, other) in zip(*paths, strict=False)
        if there is source
    ]
    apart = [one.node is not other.node for one, other in levels]
    deepest = apart.index(True) if True in apart else len(levels) - 1
    if not levels or (same_round and True not in apart):
        return now, former
    for one, other in reversed(levels[: deepest + 1]):
        if common_loop(one, other) or line_of(one.node) > line_of(other.node):
            return one, other
    return levels[deepest]


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
    if takes_its_own_turns(now, former, loop):
        return f"{why}: {barrier}"
    if not left_out:
        return f"{why}: {barrier}, or let every second round use another part of {now.memory.name}"
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
    return all(pick is not None and names_in(pick) & changed for pick in picks)


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
        odd = isinstance(part.op, ast.BitAnd) and right == "1"
        if names_in(part.left) & changed and (isinstance(part.op, ast.Mod) or odd):
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


# ---------------------------------------------------------------- steps of one block


def block_wide_step(side: Side) -> str:
    """Advice where each block goes over the same elements: `range(i, n, cuda.blockDim.x)`."""
    if not isinstance(side.node, ast.Subscript):
        return ""
    tree, index = side.source.tree, side.node.slice
    for loop in side.around:
        steps = [step for name, step in steps_of(loop) if made_of(tree, index, name)]
        if any(is_block_wide(step, tree) for step in steps):
            if in_pieces_of_blocks(tree, index):
                return ""
            return (
                f"the loop of line {line_of(loop)} goes on by the threads of one block, so all "
                "blocks come to the same elements: begin at cuda.grid(1), and go on by "
                "cuda.gridsize(1)"
            )
    return ""


def steps_of(loop: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that grow from round to round of a loop, with what is added to them."""
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
        if len(loop.iter.args) > 2:
            yield ast.unparse(loop.target), loop.iter.args[2]
    if isinstance(loop, ast.While):
        for part in ast.walk(loop):
            if isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add):
                yield ast.unparse(part.target), part.value


def made_of(tree: ast.FunctionDef, index: ast.expr, name: str) -> bool:
    """Whether an index is made of this name, and of nothing else that differs among threads.

    `grid[row, column]` is made of `cell` after `row = cell // width` and `column = cell % width`.
    """
    waiting, seen, reached = [index], {name}, False
    while waiting:
        for part in ast.walk(waiting.pop()):
            if is_of_thread(part) or is_of_block(part):
                return False
            if isinstance(part, ast.Name):
                reached = reached or part.id == name
                if part.id not in seen:
                    seen.add(part.id)
                    waiting += values_by_name(tree).get(part.id, [])
    return reached


def is_block_wide(step: ast.expr, tree: ast.FunctionDef) -> bool:
    """Whether it is cuda.blockDim.x, or a name that was given just that."""
    given = values_by_name(tree).get(ast.unparse(step), [step])
    return len(given) == 1 and ast.unparse(given[0]) in ("cuda.blockDim.x", "blockDim.x")
