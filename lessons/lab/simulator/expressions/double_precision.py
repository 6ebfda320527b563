"""Find arithmetic in double precision that nobody asked for."""

import ast
import types
from collections.abc import Sequence

import numpy as np
from numba import cuda

from ...numba_types import FLOAT32, FLOAT64, Number
from ..context import Context


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
            whole = ast.unparse(parts[0] if kinds[0] in "iub" else parts[-1])
            since = f" (since line {variables[whole].line})" if whole in variables else ""
            return (
                f"`{whole}` is a whole number{since}; with a float32 it makes a double: "
                f"write float32({whole})"
            )
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
