"""Assign to variables and to elements of arrays."""

import ast

from lessons.lab.numba_types import Number, TypeProblem, binary, is_number
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.expressions.evaluate import Expressions
from lessons.lab.simulator.stops import Unsupported
from lessons.lab.simulator.teams import Mask


class Assignments:
    """Executes `=`, `:` and `+=`."""

    def __init__(self, context: Context, expressions: Expressions) -> None:
        self.memory = context.memory
        self.expressions = expressions
        self.variables = expressions.variables
        self.indexing = expressions.indexing

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
            items = self.unpack(target, value)
            for part, item in zip(target.elts, items, strict=True):
                self.store_to(part, item, mask)
        elif isinstance(target, ast.Subscript):
            self.store_element(target, value, mask)
        else:
            raise Unsupported(target, f"`{ast.unparse(target)}` cannot be assigned to in a kernel")

    def unpack(self, target: ast.Tuple | ast.List, value: object) -> tuple:
        if any(isinstance(part, ast.Starred) for part in target.elts):
            raise Unsupported(
                target, "a starred name cannot be compiled for a GPU; name each value"
            )
        if not isinstance(value, tuple) or len(value) != len(target.elts):
            count = len(value) if isinstance(value, tuple) else "no tuple"
            raise Unsupported(
                target, f"{len(target.elts)} names on the left, but {count} on the right"
            )
        return value

    def store_element(self, target: ast.Subscript, value: object, mask: Mask) -> None:
        array = self.expressions.evaluate(target.value, mask)
        if isinstance(array, tuple):
            raise Unsupported(
                target, f"`{ast.unparse(target.value)}` is a tuple and cannot be changed"
            )
        problem = (
            f"`{ast.unparse(target)}` is a whole row or slice; a thread writes one element at "
            "a time: give every index, in a loop"
        )
        view, indices = self.indexing.view_and_element(target, array, mask, problem)
        if not is_number(value):
            raise Unsupported(target, "only a number can be stored in an array's element")
        self.memory.store(view, indices, value, mask, target)

    # ------------------------------------------------------------ +=, *= and the like

    def augmented_assign(self, node: ast.AugAssign, mask: Mask) -> Mask:
        if isinstance(node.target, ast.Subscript):
            self.change_element(node, node.target, mask)
        elif isinstance(node.target, ast.Name):
            self.change_variable(node, node.target, mask)
        else:
            raise Unsupported(
                node, f"`{ast.unparse(node.target)}` cannot be assigned to in a kernel"
            )
        return mask

    def change_element(self, node: ast.AugAssign, target: ast.Subscript, mask: Mask) -> None:
        array = self.expressions.evaluate(target.value, mask)
        problem = "a thread changes one element at a time: give every index"
        view, indices = self.indexing.view_and_element(target, array, mask, problem)
        old = self.memory.load(view, indices, mask, target)
        self.memory.store(view, indices, self.combine(node, old, mask), mask, target)

    def change_variable(self, node: ast.AugAssign, target: ast.Name, mask: Mask) -> None:
        old = self.variables.look_up(target, mask)
        self.variables.bind(target.id, self.combine(node, old, mask), mask, target)

    def combine(self, node: ast.AugAssign, old: object, mask: Mask) -> Number:
        """The value after an operation such as +=."""
        if not is_number(old):
            raise Unsupported(node, f"`{ast.unparse(node.target)}` is not a number")
        value = self.expressions.number(node.value, mask)
        try:
            result = binary(type(node.op).__name__, old, value)
        except TypeProblem as problem:
            raise Unsupported(node, str(problem)) from None
        parts = (node.target, node.value)
        self.expressions.doubles.check(node, parts, (old, value), result.dtype)
        return result
