"""Assign to variables and to elements of arrays."""

import ast
from functools import partial

import numpy as np

from ..bfloat16 import BFloat16, operate
from ..numba_types import Number, TypeProblem, binary
from .context import Context
from .expressions.evaluate import Expressions
from .memory.arrays import ArrayView
from .stops import Unsupported
from .teams import Mask
from .values import as_number


class Assignments:
    """Executes `=`, `:` and `+=`."""

    def __init__(self, context: Context, expressions: Expressions) -> None:
        self.memory = context.memory
        self.expressions = expressions
        self.narrowing = expressions.calls.narrowing
        self.variables = expressions.variables
        self.indexing = expressions.indexing
        self.arrays = expressions.arrays

    def assign(self, node: ast.Assign, mask: Mask) -> Mask:
        value = self.expressions.evaluate(node.value, mask)
        for target in node.targets:
            self.store_to(target, value, mask)
        return mask

    def annotated_assign(self, node: ast.AnnAssign, mask: Mask) -> Mask:
        if node.value is not None:
            self.store_to(node.target, self.expressions.evaluate(node.value, mask), mask)
        return mask

    def store_to(self, target: ast.expr, value: object, mask: Mask) -> None:
        """target = value, in the threads of `mask`."""
        if isinstance(target, ast.Name):
            self.variables.bind(target.id, value, mask, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = self.unpack(target, value, mask)
            for part, item in zip(target.elts, items, strict=True):
                self.store_to(part, item, mask)
        elif isinstance(target, ast.Subscript):
            self.store_element(target, value, mask)
        elif isinstance(target, ast.Attribute):
            self.store_field(target, value, mask)
        else:
            raise Unsupported(target, f"`{ast.unparse(target)}` cannot be assigned to in a kernel")

    def unpack(self, target: ast.Tuple | ast.List, value: object, mask: Mask) -> tuple:
        if any(isinstance(part, ast.Starred) for part in target.elts):
            raise Unsupported(
                target, "a starred name cannot be compiled for a GPU; name each value"
            )
        if isinstance(value, ArrayView) and len(value.shape) == 1:
            value = tuple(self.arrays.elements(target, value, mask))
        if not isinstance(value, tuple) or len(value) != len(target.elts):
            count = len(value) if isinstance(value, tuple) else "no tuple"
            raise Unsupported(
                target, f"{len(target.elts)} names on the left, but {count} on the right"
            )
        return value

    def place(self, target: ast.Subscript, mask: Mask) -> tuple[ArrayView, list[Number] | None]:
        """(array, indices) of an element; (part of the array, None) of a row or a slice."""
        array = self.expressions.evaluate(target.value, mask)
        if isinstance(array, tuple):
            raise Unsupported(
                target, f"`{ast.unparse(target.value)}` is a tuple and cannot be changed"
            )
        view, indices = self.indexing.place(target, array, mask)
        if indices is not None and len(indices) < len(view.shape):
            row = self.memory.load(view, indices, mask, target)
            assert isinstance(row, ArrayView)
            return row, None
        return view, indices

    def store_element(self, target: ast.Subscript, value: object, mask: Mask) -> None:
        view, indices = self.place(target, mask)
        if indices is None:
            self.arrays.fill(target, view, value, mask)
        elif view.dtype.fields:
            self.arrays.store(target, view, indices, value, mask)
        else:
            number = self.as_element(target, view, value)
            if view.dtype.itemsize < number.dtype.itemsize:
                self.narrowing.check(target, number, view.dtype, mask)
            self.memory.store(view, indices, number, mask, target)

    def as_element(self, target: ast.expr, view: ArrayView, value: object) -> Number:
        if isinstance(value, (str, bytes)) and view.dtype.kind in "SU":
            return np.array(value, view.dtype)[()]
        number = as_number(value)
        if number is None:
            raise Unsupported(target, "only a number can be stored in an array's element")
        return number

    def store_field(self, target: ast.Attribute, value: object, mask: Mask) -> None:
        """record.field = value"""
        record = self.expressions.evaluate(target.value, mask)
        if not isinstance(record, ArrayView) or target.attr not in (record.dtype.fields or ()):
            raise Unsupported(target, f"`{ast.unparse(target)}` cannot be assigned to in a kernel")
        part = record.part(target.attr)
        if part.shape:
            self.arrays.fill(target, part, value, mask)
        elif part.is_record:
            self.arrays.store(target, part, [], value, mask)
        else:
            self.memory.store(part, [], self.as_element(target, part, value), mask, target)

    # ------------------------------------------------------------ +=, *= and the like

    def augmented_assign(self, node: ast.AugAssign, mask: Mask) -> Mask:
        if isinstance(node.target, ast.Subscript):
            self.change_element(node, node.target, mask)
        elif isinstance(node.target, ast.Name):
            self.change_variable(node, node.target, mask)
        elif isinstance(node.target, ast.Attribute):
            old = self.expressions.evaluate(node.target, mask)
            self.store_field(node.target, self.combine(node, old, mask), mask)
        else:
            raise Unsupported(
                node, f"`{ast.unparse(node.target)}` cannot be assigned to in a kernel"
            )
        return mask

    def change_element(self, node: ast.AugAssign, target: ast.Subscript, mask: Mask) -> None:
        view, indices = self.place(target, mask)
        if indices is None:
            self.change_array(node, view, mask)
            return
        old = self.memory.load(view, indices, mask, target)
        number = self.as_element(target, view, self.combine(node, old, mask))
        self.memory.store(view, indices, number, mask, target)

    def change_array(self, node: ast.AugAssign, view: ArrayView, mask: Mask) -> None:
        """row[:] += value: element by element."""
        value = self.expressions.evaluate(node.value, mask)
        operation = type(node.op).__name__
        result = self.arrays.apply(node.target, partial(binary, operation), [view, value], mask)
        self.arrays.fill(node.target, view, result, mask)

    def change_variable(self, node: ast.AugAssign, target: ast.Name, mask: Mask) -> None:
        old = self.variables.look_up(target, mask)
        if isinstance(old, ArrayView):
            self.change_array(node, old, mask)
            return
        if isinstance(old, tuple) and isinstance(node.op, ast.Add):
            value = self.expressions.evaluate(node.value, mask)
            if isinstance(value, tuple):
                self.variables.bind(target.id, (*old, *value), mask, target)
                return
        self.variables.bind(target.id, self.combine(node, old, mask), mask, target)

    def combine(self, node: ast.AugAssign, old: object, mask: Mask) -> BFloat16 | Number:
        """The value after an operation such as +=."""
        given = self.expressions.evaluate(node.value, mask)
        small = operate(type(node.op).__name__, old, given)
        if small is not None:
            return small
        old = as_number(old)
        if old is None:
            raise Unsupported(node, f"`{ast.unparse(node.target)}` is not a number")
        value = self.expressions.as_number(node.value, given)
        try:
            result = binary(type(node.op).__name__, old, value)
        except TypeProblem as problem:
            raise Unsupported(node, str(problem)) from None
        parts = (node.target, node.value)
        self.expressions.doubles.check(node, parts, (old, value), result.dtype)
        return self.expressions.watched_number(node, result, mask)
