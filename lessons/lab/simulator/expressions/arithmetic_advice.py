"""Advice on arithmetic: float64 that nobody asked for, and indices that overflow."""

import ast
import functools
import types
from collections.abc import Iterator, Sequence

import numpy as np
from numba import cuda

from ...numba_types import FLOAT32, FLOAT64, Number
from ..context import Context
from ..reporter import Reporter
from ..teams import Mask, Team, first_of


class DoublePrecision:
    """Reports operations that are computed in float64."""

    def __init__(self, context: Context) -> None:
        self.stack = context.stack
        self.reporter = context.reporter

    def check(
        self,
        node: ast.expr | ast.stmt,
        parts: Sequence[ast.expr],
        values: Sequence[Number],
        result: np.dtype | None,
    ) -> None:
        """A finding if an operation is computed in double precision.

        parts, values: its operands. result: dtype of its result, None for a comparison.
        """
        if self.reporter.launch.report.doubles_asked_for:
            return
        dtypes = [value.dtype for value in values]
        if result is None:
            if not self.compares_doubles(parts, values):
                return
        elif result != FLOAT64 and FLOAT64 not in dtypes:
            return
        if not self.is_constant(node):
            self.reporter.add(
                "slow", node, self.explain(parts, dtypes), key="double", topic="double"
            )

    def compares_doubles(self, parts: Sequence[ast.expr], values: Sequence[Number]) -> bool:
        """Whether a comparison is done in double precision.

        The compiler turns `x > 0.5` into a float32 comparison by itself, because 0.5 is exact in
        float32; it cannot do so for 0.1, nor for a number that it does not know.
        """
        dtypes = [value.dtype for value in values]
        if FLOAT64 not in dtypes and (FLOAT32 not in dtypes or dtypes[0] == dtypes[-1]):
            return False
        for part, value in zip(parts, values, strict=True):
            if value.dtype != FLOAT32 and not (
                self.is_constant(part) and np.float32(value) == value
            ):
                return True
        return False

    def explain(self, parts: Sequence[ast.expr], dtypes: Sequence[np.dtype]) -> str:
        for part, dtype in zip(parts, dtypes, strict=True):
            if dtype == FLOAT64 and self.is_constant(part):
                text = ast.unparse(part)
                return f"{text} is a double (float64), and so is the result: write float32({text})"
        kinds = [dtype.kind for dtype in dtypes]
        if all(kind in "iub" for kind in kinds):
            text = f"float32({ast.unparse(parts[0])}) / float32({ast.unparse(parts[-1])})"
            return f"dividing two whole numbers gives a double (float64): write {text}"
        variables = self.stack.frame.variables
        if FLOAT64 not in dtypes:
            part = parts[0] if kinds[0] in "iub" else parts[-1]
            whole = ast.unparse(part)
            since = f" (since line {variables[whole].line})" if whole in variables else ""
            changed = isinstance(getattr(part, "ctx", None), ast.Store)  # total += ...
            advice = (
                "make it a float32 from its beginning" if changed else f"write float32({whole})"
            )
            return f"`{whole}` is a whole number{since}; with a float32 it makes a double: {advice}"
        text = ast.unparse(parts[list(dtypes).index(FLOAT64)])
        since = f" since line {variables[text].line}" if text in variables else ""
        return (
            f"`{text}` is a double (float64){since}, so this is computed in double precision; "
            "make it a float32"
        )

    def is_constant(self, node: ast.AST) -> bool:
        """Whether the compiler knows the value: literals, numbers from outside, sums of them."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            if node.id in self.stack.frame.locals:
                return False
            value = self.stack.source.lookup(node.id)
            return isinstance(value, (int, float, np.generic)) or callable(value)
        if isinstance(node, ast.Attribute):
            if not isinstance(node.value, ast.Name):
                return False
            owner = self.stack.source.lookup(node.value.id)
            return isinstance(owner, types.ModuleType) and owner is not cuda
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            operands = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
            return all(map(self.is_constant, operands))
        if isinstance(node, ast.Call):
            return self.is_constant(node.func) and all(map(self.is_constant, node.args))
        return False


# ---------------------------------------------------------------- index arithmetic

# `int32(y * width + x)` may wrap around, and a hash function wants it to. In an index it is a
# mistake: the element is another one than it seems.


# Behind other operators, such as %, a value is no longer meant as it is.
STAYS_AN_INDEX = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)


@functools.lru_cache(maxsize=256)
def narrowings(tree: ast.FunctionDef) -> frozenset[ast.expr]:
    """Calls such as `int32(...)`, and elements that are stored to, that become part of an index."""
    assigned = assignments(tree)
    found: set[ast.expr] = set()
    names: set[str] = set()
    pending = list(indices(tree))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Tuple):
            pending += node.elts
        elif isinstance(node, ast.BinOp) and isinstance(node.op, STAYS_AN_INDEX):
            pending += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            pending.append(node.operand)
        elif isinstance(node, ast.IfExp):
            pending += [node.body, node.orelse]
        elif isinstance(node, ast.Call) and node not in found:
            found.add(node)
            pending += node.args
        elif isinstance(node, ast.Subscript):
            pending.append(node.value)
        elif isinstance(node, ast.Name) and node.id not in names:
            names.add(node.id)
            for target, value in assigned.get(node.id, []):
                if isinstance(target, ast.Subscript):
                    found.add(target)
                pending.append(value)
    return frozenset(found)


def indices(tree: ast.AST) -> Iterator[ast.expr]:
    """Everything that an array is indexed with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.Call) and ".atomic." in ast.unparse(node.func):
            yield from node.args[1:2]


def assignments(tree: ast.AST) -> dict[str, list[tuple[ast.expr, ast.expr]]]:
    """name -> (target, value) of all that is assigned to it, or to an element of it."""
    found: dict[str, list[tuple[ast.expr, ast.expr]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in paired(target, node.value)]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, STAYS_AN_INDEX):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For):
            pairs = [(node.target, value) for value in steps_of_range(node.iter)]
        else:
            continue
        for target, value in pairs:
            owner = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(owner, ast.Name):
                found.setdefault(owner.id, []).append((target, value))
    return found


def steps_of_range(sequence: ast.expr) -> list[ast.expr]:
    """Of `range(first, end, step)`, what the numbers are made of: the first one and the step."""
    if not (isinstance(sequence, ast.Call) and ast.unparse(sequence.func) == "range"):
        return []
    return [*sequence.args[:1], *sequence.args[2:]] if len(sequence.args) > 1 else []


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


class Narrowing:
    """Looks at conversions to smaller types of whole numbers."""

    def __init__(self, team: Team, reporter: Reporter) -> None:
        self.team = team
        self.reporter = reporter

    def check(self, node: ast.expr, value: Number, dtype: np.dtype, mask: Mask) -> None:
        """A finding if an index does not fit. node: the conversion, or the element stored to."""
        if dtype.kind not in "iu" or value.dtype.kind not in "iuf":
            return
        if value.dtype.kind != "f" and np.can_cast(value.dtype, dtype):
            return
        if value.dtype == np.uint64 and dtype.kind == "u":
            value = value.astype(np.int64)  # a difference of unsigned numbers may be negative
        limits = np.iinfo(dtype)
        too_large = value > limits.max
        # A negative number as an unsigned one is a huge index, which is found where it is used.
        outside = too_large if dtype.kind == "u" else too_large | (value < limits.min)
        if not np.any(outside) or node not in narrowings(self.reporter.stack.source.tree):
            return
        wrong = mask & outside
        if not wrong.any():
            return
        position = first_of(wrong)
        number = self.team.full(value)[position]
        wide = "uint64" if dtype.kind == "u" else "int64"
        self.reporter.add(
            "overflow",
            node,
            f"`{ast.unparse(node)}` gets {int(number):,} in {self.reporter.name_position(position)}"
            f", which does not fit into {dtype} (at most {limits.max:,}) and becomes "
            f"{int(np.int64(number).astype(dtype)):,}; an index that can be so large needs {wide}",
            place=self.reporter.place_of(position),
        )
