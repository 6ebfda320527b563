"""What evaluates expressions, as those see it who evaluate a part of them."""

import ast
from collections.abc import Sequence

from ...numba_types import Number, is_number
from ..context import Context
from ..stops import Unsupported
from ..teams import Mask
from ..values import as_number
from .arithmetic_advice import DoublePrecision
from .variables import Variables


class Evaluator:
    """Evaluates expressions for one team, for the threads in a mask.

    A value is a number (a NumPy scalar for all threads, or a vector with one element per thread),
    an `ArrayView`, a tuple of values, or an object from outside the kernel, such as a function.
    What does not compile raises `Unsupported`.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.variables = Variables(context)
        self.doubles = DoublePrecision(context)

    def evaluate(self, node: ast.expr, mask: Mask) -> object:
        raise NotImplementedError

    def number(self, node: ast.expr, mask: Mask) -> Number:
        """The value of an expression that must be a number."""
        value = self.evaluate(node, mask)
        return value if is_number(value) else self.as_number(node, value)

    def as_number(self, node: ast.expr, value: object) -> Number:
        number = as_number(value)
        if number is None:
            raise Unsupported(node, f"`{ast.unparse(node)}` must be a number here")
        return number

    def items(self, nodes: Sequence[ast.expr], mask: Mask) -> list[object]:
        """The values of expressions, those of a starred tuple one by one."""
        values: list[object] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                values.append(self.evaluate(node, mask))
                continue
            several = self.evaluate(node.value, mask)
            if not isinstance(several, tuple):
                raise Unsupported(node, f"`{ast.unparse(node.value)}` is not a tuple")
            values += several
        return values
