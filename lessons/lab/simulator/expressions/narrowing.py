"""Find index arithmetic that overflows: a value loses its upper bits on the way to an index."""

import ast

import numpy as np

from ...numba_types import Number
from ..reporter import Reporter
from ..teams import Mask, Team, first_of
from .index_arithmetic import narrowings


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
