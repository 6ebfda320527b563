"""What the parts of an expression need of the whole: the values of their own parts."""

import ast
from typing import Protocol

from ...numba_types import Number
from ..teams import Mask


class Evaluator(Protocol):
    """Evaluates expressions for the threads in a mask.

    A value is a number (a NumPy scalar for all threads, or a vector with one element per thread),
    an `ArrayView`, a tuple of values, or an object from outside the kernel, such as a function.
    Both methods raise `Unsupported` for what does not compile.
    """

    def evaluate(self, node: ast.expr, mask: Mask) -> object: ...

    def number(self, node: ast.expr, mask: Mask) -> Number:
        """The value of an expression that must be a number."""
