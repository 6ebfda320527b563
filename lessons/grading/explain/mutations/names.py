"""Small changes of a name: another one that is known there, another letter, another function.

Each function yields (new text, kind, words) for one node, as in `expressions`.
"""

import ast
import re
from collections.abc import Iterator

from lessons.grading.explain.mutations.scope import (
    CLOSE,
    MOST_ALIKE,
    WHOLE,
    Scope,
    called_name,
    distance,
)
from lessons.grading.explain.mutations.source import Proposal, Source

LETTERS = {"x": "yz", "y": "xz", "z": "xy"}
CUDA_NAMES = {
    "threadIdx": ("blockIdx",), "blockIdx": ("threadIdx",), "blockDim": ("gridDim",),
    "gridDim": ("blockDim",),
}  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth")
# Functions that are taken for each other.
FUNCTIONS = {
    "min": ("max",), "max": ("min",), "sin": ("cos",), "cos": ("sin",), "floor": ("ceil",),
    "ceil": ("floor",), "int": ("round",), "round": ("int",), "exp": ("log",), "log": ("exp",),
    "sinpi": ("cospi",), "cospi": ("sinpi",), "int32": ("float32",), "zeros": ("ones",),
    "ones": ("zeros",), "sub": ("add",), "shfl_down_sync": ("shfl_up_sync", "shfl_xor_sync"),
    "shfl_up_sync": ("shfl_down_sync",),
    "shfl_xor_sync": ("shfl_down_sync",), "empty": ("zeros",), "add": ("max", "min", "sub"),
}  # fmt: skip


def letters(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Another of x, y, z; a thread's number for its block's."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return
    text = source.text_of(node)
    before = source.text_of(node.value)
    named = before.rpartition(".")[2]
    if named in CUDA_NAMES:
        for letter in LETTERS.get(node.attr, ""):
            yield f"{before}.{letter}", "x, y, z", f"with another of x, y and z in `{text}`"
    for other in CUDA_NAMES.get(node.attr, ()):
        yield f"{before}.{other}", "thread or block", f"with another name in place of `{text}`"


def attributes(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Another part of the same thing: arrays.weights_1 for arrays.weights_2."""
    if not isinstance(node, ast.Attribute) or node.attr in ("shape", "size", "T", *CUDA_NAMES):
        return
    before = source.text_of(node.value)
    if before.rpartition(".")[2] in CUDA_NAMES or before in ("cuda", "math", "np", "numpy"):
        return
    for inner in scope.nodes:
        if isinstance(inner, ast.Attribute) and source.text_of(inner.value) == before:
            if inner.attr not in (node.attr, "shape"):
                words = f"with another part of `{before}` in place of `{source.text_of(node)}`"
                yield f"{before}.{inner.attr}", "name", words


def functions(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Another function in place of the one that is called, or none."""
    if not isinstance(node, ast.Call):
        return
    name, text = called_name(node), source.text_of(node)
    head = source.text_of(node.func)
    for other in FUNCTIONS.get(name, ()):
        new = head.removesuffix(name) + other + text[len(head) :]
        yield new, "function", f"with `{other}` in place of `{name}`"
    if name in ("min", "max") and len(node.args) == 2:
        for argument in node.args:
            yield source.part(argument), "function", f"without `{head}`"
    if len(node.args) == 1 and not node.keywords and name not in ("grid", "gridsize", "range"):
        yield source.part(node.args[0]), "function", f"without `{head}`"


def close_names(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Another name that is easily taken for this one."""
    yield from (proposal for proposal, far in other_names(node, scope) if far <= CLOSE)


def names(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Another name of the same kind."""
    yield from (proposal for proposal, far in other_names(node, scope) if far > CLOSE)


def other_names(node: ast.AST, scope: Scope) -> Iterator[tuple[Proposal, int]]:
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    if node.id not in scope.known:
        return
    words = f"with another name in place of {which_one(node, scope)}"
    for other in scope.alike(node.id, node.lineno):
        yield (other, "name", words), distance(node.id, other)


def which_one(node: ast.Name, scope: Scope) -> str:
    """ "`n`", or "the second `n`" where a line has several."""
    here = [
        other.col_offset
        for other in scope.nodes
        if isinstance(other, ast.Name) and (other.id, other.lineno) == (node.id, node.lineno)
    ]
    number = sum(column < node.col_offset for column in here)
    if len(here) < 2 or number >= len(ORDINALS):
        return f"`{node.id}`"
    return f"the {ORDINALS[number]} `{node.id}`"


def names_for_constants(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """A name of the function for a constant of the file."""
    if not isinstance(node, ast.Name) or not node.id.isupper() or node.id in scope.known:
        return
    for name, since in scope.known.items():
        if since <= node.lineno and scope.kinds.get(name) == WHOLE:
            yield name, "name", f"with another name in place of `{node.id}`"


def names_of_the_file(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """Another constant or function that the file knows; a constant for a number."""
    if not isinstance(node, (ast.Name, ast.Constant)):
        return
    words = f"with another name in place of `{source.text_of(node)}`"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in scope.of_the_file:
            for other in sorted(scope.of_the_file):
                same_style = other.isupper() == node.id.isupper()
                if other != node.id and same_style:
                    yield other, "name", words
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value > 1:
        for other in sorted(scope.of_the_file):
            if re.fullmatch("[A-Z][A-Z0-9_]*", other):
                yield other, "number", words.replace("another name", "a name")


def times_a_constant(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """A whole number times a constant that is a factor elsewhere: the number of a tile, say."""
    if not isinstance(node, ast.Name) or scope.kinds.get(node.id) != WHOLE:
        return
    if not isinstance(node.ctx, ast.Load):
        return
    factors = {
        side.id
        for other in scope.nodes
        if isinstance(other, ast.BinOp) and isinstance(other.op, ast.Mult)
        for side in (other.left, other.right)
        if isinstance(side, ast.Name) and side.id.isupper()
    }
    for constant in sorted(factors):
        yield f"({node.id} * {constant})", "factor", f"with one more factor at `{node.id}`"


def part_missing(node: ast.AST, source: Source, scope: Scope) -> Iterator[Proposal]:
    """One more factor or term, of the names that the function knows."""
    if not isinstance(node, (ast.Name, ast.Subscript, ast.Call, ast.BinOp)):
        return
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    if scope.kind_of(node) == "array":
        return
    text = source.part(node)
    for name, since in list(scope.known.items())[:MOST_ALIKE]:
        if since > node.lineno or scope.kinds.get(name) == "array" or name == "_":
            continue
        yield f"({text} * {name})", "factor", "with one more factor, a name that is known there"
        yield f"({text} + {name})", "term", "with one more term, a name that is known there"
