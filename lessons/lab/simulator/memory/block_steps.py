"""Races of loops that go on by one block's threads, so that blocks come to the same elements."""

import ast
from collections.abc import Iterator

from .origins import in_pieces_of_blocks
from .places import Side, line_of, parents_in, parents_of


def block_wide_step(side: Side) -> str:
    """Advice where each block goes over the same elements: `range(i, n, cuda.blockDim.x)`."""
    if not isinstance(side.node, ast.Subscript):
        return ""
    index = ast.unparse(side.node.slice)
    for loop in parents_of(parents_in(side.source.tree), side.node):
        if any(is_block_wide(step, side.source.tree) for step in steps_of(loop, index)):
            if in_pieces_of_blocks(side.source.tree, side.node.slice):
                return ""
            return (
                f"the loop of line {line_of(loop)} goes on by the threads of one block, so all "
                "blocks come to the same elements: begin at cuda.grid(1), and go on by "
                "cuda.gridsize(1)"
            )
    return ""


def steps_of(loop: ast.AST, index: str) -> Iterator[ast.expr]:
    """What a loop adds to an index from round to round."""
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
        if len(loop.iter.args) > 2 and ast.unparse(loop.target) == index:
            yield loop.iter.args[2]
    if isinstance(loop, ast.While):
        for part in ast.walk(loop):
            if isinstance(part, ast.AugAssign) and ast.unparse(part.target) == index:
                yield part.value


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
