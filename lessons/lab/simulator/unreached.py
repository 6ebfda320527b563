"""Elements that a guard lets pass, and that the grid is too small to reach: nobody writes them.

Looked for in kernels of the common form only: `i = cuda.grid(1)`, a guard `i < n` or `i >= n:
return`, and `out[i] = ...`, with an `i` that no loop moves on.
"""

import ast
import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..source import names_in, parts_of
from .findings import Place
from .memory.arrays import ArrayView, written_now
from .report import Report

GRID = re.compile(r"(?:cuda\.)?grid\([123]\)")
BY_HAND = re.compile(
    r"(?:cuda\.)?(?:threadIdx\.([xyz]) \+ .*blockIdx\.\1|blockIdx\.([xyz]) \* .*threadIdx\.\2).*"
)
LENGTH = re.compile(r"len\((\w+)\)|(\w+)\.(?:size|shape\[(\d)\])")


def report_unreached(
    report: Report, arguments: Sequence[object], arrays: Mapping[str, ArrayView]
) -> None:
    """A finding for each guard that is wider than the grid. arrays: by name, after the run."""
    tree = report.source.tree
    if not guards(tree):
        return
    known = dict(zip(report.source.parameters, arguments, strict=True))
    axes = axes_of_names(tree, known)
    for guarded, name, bound in guards(tree):
        limit = value_of(bound, known, arrays)
        if name not in axes or not isinstance(limit, (int, np.integer)):
            continue
        reached = report.grid[axes[name]] * report.block[axes[name]]
        for array, position in stores_at(guarded, name):
            view = arrays.get(array)
            if view is None or not reached < limit <= view.shape[position]:
                continue
            if written_now(view)[(slice(None),) * position + (slice(reached, limit),)].any():
                continue
            parts = [":"] * len(view.shape)
            parts[position] = f"{reached}:"
            message = (
                f"nobody writes {array}[{', '.join(parts)}]: the guard lets `{name}` go up to "
                f"{limit - 1}, and the launch has {reached:,} threads along {'xyz'[axes[name]]}: "
                "is the grid too small, or are its axes exchanged?"
            )
            place = Place(array=array)
            report.add(
                "unwritten", bound.lineno, message, (array, name), place=place, topic="unreached"
            )


def axes_of_names(tree: ast.FunctionDef, known: dict[str, object]) -> dict[str, int]:
    """name -> axis, of variables that are a thread's place and stay so. Others go into `known`."""
    axes, shapes, texts, moved = told_by_text(tree)
    known.update({**texts, **known, **shapes})
    for name in moved:
        known.pop(name, None)
    return axes


@functools.lru_cache(maxsize=64)
def told_by_text(
    tree: ast.FunctionDef,
) -> tuple[dict[str, int], dict[str, str], dict[str, str], set[str]]:
    """Axes of names, names of lengths, what other names are, and names that change."""
    axes: dict[str, int] = {}
    shapes: dict[str, str] = {}
    texts: dict[str, str] = {}
    moved = set()
    stored: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] += 1
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("range", "gridsize")):
            moved |= names_in(node)
        if not isinstance(node, ast.Assign):
            continue
        text = ast.unparse(node.value)
        names = [ast.unparse(part) for part in getattr(node.targets[0], "elts", node.targets)]
        by_hand = BY_HAND.fullmatch(text)
        if GRID.fullmatch(text):
            axes.update({name: axis for axis, name in enumerate(names)})
        elif by_hand:
            axes[names[0]] = "xyz".index(by_hand[1] or by_hand[2])
        elif text.endswith(".shape"):
            shapes.update({name: f"{text}[{axis}]" for axis, name in enumerate(names)})
        else:
            texts.setdefault(names[0], text)
    moved |= {name for name, times in stored.items() if times > 1}
    return {name: axis for name, axis in axes.items() if name not in moved}, shapes, texts, moved


@functools.lru_cache(maxsize=64)
def guards(tree: ast.FunctionDef) -> tuple[tuple[ast.AST, str, ast.expr], ...]:
    """(what is guarded: an `if` or the kernel, name, limit) for each `name < limit`."""
    found: list[tuple[ast.AST, str, ast.expr]] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        leaves = isinstance(node.body[-1], ast.Return)
        tests = [node.test]
        if isinstance(node.test, ast.BoolOp):
            tests = node.test.values if isinstance(node.test.op, ast.Or) == leaves else []
        for test in tests:
            if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
                continue
            if isinstance(test.ops[-1], ast.GtE if leaves else ast.Lt) and len(test.ops) == 1:
                found.append((tree if leaves else node, test.left.id, test.comparators[0]))
    return tuple(found)


@functools.lru_cache(maxsize=256)
def stores_at(block: ast.AST, name: str) -> list[tuple[str, int]]:
    """(array, axis) for each `array[.., name, ..] = ...` within a block of statements."""
    found = []
    for node in ast.walk(block):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript):
                for position, part in enumerate(parts_of(target.slice)):
                    if isinstance(part, ast.Name) and part.id == name:
                        found.append((ast.unparse(target.value), position))
    return found


def value_of(
    bound: ast.expr, known: Mapping[str, object], arrays: Mapping[str, ArrayView]
) -> object:
    """The value of a limit such as `n`, `out.size`, `len(out)` or `out.shape[0]`; else None."""
    found: object = ast.unparse(bound)
    for _ in range(3):  # a name of a name
        found = known.get(found, found) if isinstance(found, str) else found
    length = LENGTH.fullmatch(found) if isinstance(found, str) else None
    if length is None:
        return found
    view = arrays.get(length[1] or length[2])
    if view is None or (length[0].endswith(".size") and len(view.shape) > 1):
        return None
    return view.shape[int(length[3] or 0)]
