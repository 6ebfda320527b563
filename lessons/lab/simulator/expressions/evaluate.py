"""Evaluate expressions: each value is a number for all threads, or a vector with one for each."""

import ast
import types
from collections.abc import Callable

import numpy as np

from lessons.lab import names
from lessons.lab.names import CudaName
from lessons.lab.numba_types import (
    Condition,
    Number,
    TypeProblem,
    binary,
    compare,
    is_number,
    truth,
    typed,
    unary,
)
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.cuda_functions.positions import position_value
from lessons.lab.simulator.expressions.calls import Calls, DeviceCall
from lessons.lab.simulator.expressions.double_precision import DoublePrecision
from lessons.lab.simulator.expressions.indexing import Indexing
from lessons.lab.simulator.expressions.variables import Variables
from lessons.lab.simulator.memory.arrays import ArrayView
from lessons.lab.simulator.stops import Unsupported
from lessons.lab.simulator.teams import Mask


class Expressions:
    """Evaluates expressions for one team; an `Evaluator`."""

    def __init__(self, context: Context, call_device_function: DeviceCall) -> None:
        self.context = context
        self.variables = Variables(context)
        self.doubles = DoublePrecision(context)
        self.indexing = Indexing(context, self)
        calls = Calls(context, self, self.doubles, call_device_function)
        # Each takes a node of its own class, and a mask.
        self.methods: dict[type[ast.expr], Callable[..., object]] = {
            ast.Constant: self.constant,
            ast.Name: self.variables.look_up,
            ast.Attribute: self.attribute,
            ast.BinOp: self.binary_operation,
            ast.UnaryOp: self.unary_operation,
            ast.Compare: self.comparison,
            ast.BoolOp: self.boolean,
            ast.IfExp: self.choice,
            ast.Tuple: self.tuple_of,
            ast.Subscript: self.indexing.subscript,
            ast.Call: calls.call,
            ast.NamedExpr: self.walrus,
        }

    def evaluate(self, node: ast.expr, mask: Mask) -> object:
        method = self.methods.get(type(node))
        if method is None:
            raise Unsupported(node, f"`{ast.unparse(node)}` cannot be compiled for a GPU")
        try:
            return method(node, mask)
        except TypeProblem as problem:
            raise Unsupported(node, f"`{ast.unparse(node)}`: {problem}") from None

    def number(self, node: ast.expr, mask: Mask) -> Number:
        value = self.evaluate(node, mask)
        if not is_number(value):
            raise Unsupported(node, f"`{ast.unparse(node)}` must be a number here")
        return value

    def condition(self, node: ast.expr, mask: Mask) -> Condition:
        """Where an expression is true."""
        return truth(self.number(node, mask))

    # ------------------------------------------------------------ constants and attributes

    def constant(self, node: ast.Constant, mask: Mask) -> object:
        if isinstance(node.value, (bool, int, float)):
            return typed(node.value)
        return node.value  # a string names a dtype; None; Ellipsis

    def attribute(self, node: ast.Attribute, mask: Mask) -> object:
        value = self.evaluate(node.value, mask)
        if isinstance(value, CudaName):
            return self.attribute_of_cuda(node, value)
        if isinstance(value, ArrayView):
            return self.attribute_of_array(node, value)
        if isinstance(value, tuple) and node.attr in getattr(value, "_fields", ()):
            return getattr(value, node.attr)
        if isinstance(value, types.ModuleType):
            if not hasattr(value, node.attr):
                raise Unsupported(node, f"{value.__name__} has no `{node.attr}`")
            found = getattr(value, node.attr)
            return self.variables.from_outside(node, found, ast.unparse(node))
        raise Unsupported(
            node, f"`{ast.unparse(node)}`: a kernel cannot look up `.{node.attr}` there"
        )

    def attribute_of_cuda(self, node: ast.Attribute, owner: CudaName) -> object:
        path = f"{owner.path}.{node.attr}" if owner.path else node.attr
        number = position_value(self.context, path)
        if number is not None:
            return number
        if not names.is_known(path):
            raise Unsupported(node, names.unknown(path))
        return CudaName(path)

    def attribute_of_array(self, node: ast.Attribute, view: ArrayView) -> object:
        if node.attr == "shape":
            return tuple(np.int64(n) for n in view.shape)
        if node.attr == "strides":
            return tuple(np.int64(s * view.dtype.itemsize) for s in view.strides)
        if node.attr == "size":
            return np.int64(view.size)
        if node.attr == "ndim":
            return np.int64(len(view.shape))
        if node.attr == "itemsize":
            return np.int64(view.dtype.itemsize)
        if node.attr == "dtype":
            return view.dtype
        if node.attr == "T":
            return ArrayView(view.memory, view.offset, view.shape[::-1], view.strides[::-1])
        raise Unsupported(
            node,
            f"`{ast.unparse(node)}`: whole-array operations of NumPy do not exist in a kernel; "
            "write a loop over the elements",
        )

    # ------------------------------------------------------------ arithmetic

    def binary_operation(self, node: ast.BinOp, mask: Mask) -> Number:
        left, right = self.number(node.left, mask), self.number(node.right, mask)
        result = binary(type(node.op).__name__, left, right)
        self.doubles.check(node, (node.left, node.right), (left, right), result.dtype)
        return result

    def unary_operation(self, node: ast.UnaryOp, mask: Mask) -> Number:
        value = self.number(node.operand, mask)
        if isinstance(node.op, ast.Not):
            return ~truth(value)
        return unary(type(node.op).__name__, value)

    def comparison(self, node: ast.Compare, mask: Mask) -> Condition:
        left, left_node = self.evaluate(node.left, mask), node.left
        result: Condition = np.bool_(True)
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            here = mask & result if np.ndim(result) else mask
            right = self.evaluate(right_node, here)
            result = result & self.compare_two(node, operator, (left_node, right_node), left, right)
            left, left_node = right, right_node
        return result

    def compare_two(
        self,
        node: ast.Compare,
        operator: ast.cmpop,
        parts: tuple[ast.expr, ast.expr],
        left: object,
        right: object,
    ) -> Condition:
        """parts: where the values left and right come from."""
        if left is None or right is None:
            same = left is right
            return np.bool_(same if isinstance(operator, (ast.Is, ast.Eq)) else not same)
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(operator, ast.Eq):
            if len(left) != len(right):
                return np.bool_(False)
            equal: Condition = np.bool_(True)
            for a, b in zip(left, right, strict=True):
                equal = equal & compare("Eq", a, b)
            return equal
        if not (is_number(left) and is_number(right)) or isinstance(operator, (ast.In, ast.NotIn)):
            raise Unsupported(node, f"`{ast.unparse(node)}` cannot be compared in a kernel")
        name = type(operator).__name__
        self.doubles.check(node, parts, (left, right), None)
        return compare({"Is": "Eq", "IsNot": "NotEq"}.get(name, name), left, right)

    def boolean(self, node: ast.BoolOp, mask: Mask) -> Condition:
        """`and`, `or`: the second operand is evaluated only in threads that need it."""
        is_and = isinstance(node.op, ast.And)
        result = self.condition(node.values[0], mask)
        for operand in node.values[1:]:
            undecided = result if is_and else ~result
            if np.ndim(undecided) == 0:
                if not undecided:
                    return result
                result = self.condition(operand, mask)
                continue
            value = self.condition(operand, mask & undecided)
            result = result & value if is_and else result | value
        return result

    def choice(self, node: ast.IfExp, mask: Mask) -> object:
        condition = self.condition(node.test, mask)
        if np.ndim(condition) == 0:
            return self.evaluate(node.body if condition else node.orelse, mask)
        yes = self.evaluate(node.body, mask & condition)
        no = self.evaluate(node.orelse, mask & ~condition)
        return self.variables.select(node, condition, yes, no)

    # ------------------------------------------------------------ the rest

    def tuple_of(self, node: ast.Tuple, mask: Mask) -> tuple:
        return tuple(self.evaluate(item, mask) for item in node.elts)

    def walrus(self, node: ast.NamedExpr, mask: Mask) -> object:
        value = self.evaluate(node.value, mask)
        self.variables.bind(node.target.id, value, mask, node)
        return value
