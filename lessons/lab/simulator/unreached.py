"""Elements that a guard lets pass, and that the grid is too small to reach: nobody writes them.

Looked for in kernels of the common form only: `i = cuda.grid(1)`, a guard `i < n` or `i >= n:
return`, and `out[i] = ...`, with an `i` that no loop moves on.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..dimensions import Dim3
from .arguments import names_of_parameters
from .findings import Place
from .memory.arrays import ArrayView, written_now
from .report import Report

BY_HAND = re.compile(
    r"^(?:cuda\.)?(?:threadIdx\.([xyz]) \+ .*blockIdx\.\1|blockIdx\.([xyz]) \* .*threadIdx\.\2)"
)


def report_unreached(
    report: Report, arguments: Sequence[object], arrays: Mapping[str, ArrayView]
) -> None:
    """A finding for each guard that is wider than the grid. arrays: by name, after the run."""
    tree = report.source.tree
    known = dict(zip(names_of_parameters(report.source), arguments, strict=True))
    threads: Dim3 = tuple(map(int.__mul__, report.grid, report.block))  # type: ignore[assignment]
    axes = axes_of_names(tree, known)
    for guard, name, bound in guards(tree):
        limit = value_of(bound, known, arrays)
        if name not in axes or not isinstance(limit, (int, np.integer)):
            continue
        reached = threads[axes[name]]
        for array, position in stores_at(guard if isinstance(guard, ast.If) else tree, name):
            there = arrays.get(array)
            if there is None or not reached < limit <= there.shape[position]:
                continue
            beyond = (slice(None),) * position + (slice(reached, limit),)
            if written_now(there)[beyond].any():
                continue
            parts = [":"] * len(there.shape)
            parts[position] = f"{reached}:"
            report.add(
                "unwritten",
                bound.lineno,
                f"nobody writes {array}[{', '.join(parts)}]: the guard lets `{name}` go up to "
                f"{limit - 1}, and the launch has {reached:,} threads along "
                f"{'xyz'[axes[name]]}: is the grid too small, or are its axes exchanged?",
                (array, name),
                place=Place(array=array),
                topic="unreached",
            )


def axes_of_names(tree: ast.FunctionDef, known: dict[str, object]) -> dict[str, int]:
    """name -> axis, of variables that are a thread's place and stay so. Others go into `known`."""
    axes: dict[str, int] = {}
    stored = Counter(
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, text = node.targets[0], ast.unparse(node.value)
        names = [ast.unparse(n) for n in getattr(target, "elts", [target])]
        by_hand = BY_HAND.match(text)
        if re.fullmatch(r"(cuda\.)?grid\([123]\)", text) and len(names) == int(text[-2]):
            axes.update({name: axis for axis, name in enumerate(names)})
        elif by_hand and len(names) == 1:
            axes[names[0]] = "xyz".index(by_hand[1] or by_hand[2])
        elif isinstance(target, ast.Tuple) and text.endswith(".shape"):
            known.update(
                {name: ast.parse(f"{text}[{k}]", mode="eval").body for k, name in enumerate(names)}
            )
        elif len(names) == 1:
            known.setdefault(names[0], node.value)
    moved = {name for name, times in stored.items() if times > 1}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("range", "gridsize")):
            moved |= {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
    for name in moved:
        known.pop(name, None)
    return {name: axis for name, axis in axes.items() if name not in moved}


def guards(tree: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """(the `if` or the kernel that is guarded, name, limit) for each `name < limit`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        leaves = isinstance(node.body[-1], ast.Return)
        tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        joined = ast.Or if leaves else ast.And
        if isinstance(node.test, ast.BoolOp) and not isinstance(node.test.op, joined):
            continue
        for test in tests:
            if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
                continue
            if len(test.ops) == 1 and isinstance(test.ops[0], ast.GtE if leaves else ast.Lt):
                yield tree if leaves else node, test.left.id, test.comparators[0]


def stores_at(block: ast.AST, name: str) -> Iterator[tuple[str, int]]:
    """(array, axis) for each `array[.., name, ..] = ...` within a block of statements."""
    for node in ast.walk(block):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript):
                parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
                for position, part in enumerate(parts):
                    if isinstance(part, ast.Name) and part.id == name:
                        yield ast.unparse(target.value), position


def value_of(node: object, known: dict[str, object], arrays: Mapping[str, ArrayView]) -> object:
    """The value of a limit such as `n`, `out.size`, `len(out)` or `out.shape[0]`; else None."""
    for _ in range(3):  # a name of a name
        if isinstance(node, ast.Name):
            node = known.get(node.id)
    if not isinstance(node, ast.expr):
        return node
    text = ast.unparse(node)
    found = re.fullmatch(r"(?:len\((\w+)\)|(\w+)\.(?:size|shape\[(\d)\]))", text)
    array = arrays.get(found[1] or found[2]) if found else None
    if found is None or array is None:
        return None
    if text.endswith(".size"):
        return array.size if len(array.shape) == 1 else None
    return array.shape[int(found[3] or 0)]
