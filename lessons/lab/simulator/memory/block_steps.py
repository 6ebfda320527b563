"""Races of loops that go on by one block's threads, so that blocks come to the same elements."""

import ast
from collections.abc import Iterator

from .origins import in_pieces_of_blocks, is_of_block, is_of_thread, names_given_in
from .places import Side, line_of, parents_in, parents_of


def block_wide_step(side: Side) -> str:
    """Advice where each block goes over the same elements: `range(i, n, cuda.blockDim.x)`."""
    if not isinstance(side.node, ast.Subscript):
        return ""
    tree, index = side.source.tree, side.node.slice
    for loop in parents_of(parents_in(tree), side.node):
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
                    waiting += given_to(tree, part.id)
    return reached


def given_to(tree: ast.FunctionDef, name: str) -> list[ast.expr]:
    """All that a function gives to a name, in assignments and in loops."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value:
            targets, value = [node.target], node.value
        elif isinstance(node, ast.For):
            targets, value = [node.target], node.iter
        else:
            continue
        if any(name in names_given_in(target) for target in targets):
            found.append(value)
    return found


def is_block_wide(step: ast.expr, tree: ast.FunctionDef) -> bool:
    """Whether it is cuda.blockDim.x, or a name that was given just that."""
    if isinstance(step, ast.Name):
        given = [
            part.value
            for part in ast.walk(tree)
            if isinstance(part, ast.Assign)
            and any(ast.unparse(target) == step.id for target in part.targets)
        ]
        return (
            len(given) == 1 and not isinstance(given[0], ast.Name) and is_block_wide(given[0], tree)
        )
    return ast.unparse(step) in ("cuda.blockDim.x", "blockDim.x")
