"""Expressions of a kernel, each for all threads at once."""

import ast
import types
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ...bfloat16 import operate
from ...numba_types import (
    Condition,
    Number,
    TypeProblem,
    binary,
    common_dtype,
    compare,
    convert,
    is_number,
    truth,
    typed,
    unary,
)
from ...source import Source, as_definition, codes_in
from ..context import Context
from ..frames import Frame
from ..memory.arrays import ArrayView
from ..stops import Unsupported
from ..teams import Mask
from ..values import InnerFunction
from ..watch import Computed
from .attributes import Attributes
from .calls import Calls, DeviceCall
from .comparisons import compare_others
from .evaluator import Evaluator
from .indexing import Indexing, WholeArrays

# ---------------------------------------------------------------- inner functions


def inner_function(
    frame: Frame,
    node: ast.FunctionDef | ast.Lambda,
    defaults: Sequence[object],
    keyword_defaults: dict[str, object],
) -> InnerFunction:
    """The function that a `def` or `lambda` makes in this call."""
    code = code_of(frame, node)
    if code is None:
        raise Unsupported(node, "this function cannot be defined here")
    tree = as_definition(node, "lambda") if isinstance(node, ast.Lambda) else node
    cells = tuple(types.CellType() for _ in code.co_freevars)
    outer = frame.source.function
    arguments = (code, outer.__globals__, code.co_name, tuple(defaults) or None, cells)
    function = types.FunctionType(*arguments)
    function.__kwdefaults__ = keyword_defaults
    return InnerFunction(Source(function, tree, frame.source.filename, frame.source.lines), frame)


def code_of(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> types.CodeType | None:
    """The compiled form of a function inside the one that runs."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    alike = [code for code in codes_in(frame.source.function.__code__)
             if code.co_name == name and names_of(code) == parameters(node)]  # fmt: skip
    on_line = [code for code in alike if code.co_firstlineno == first_line(node)]
    found = on_line or alike
    return found[0] if found else None


def names_of(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return tuple(argument.arg for argument in every)


def first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


class Expressions(Evaluator):
    """Evaluates expressions of all kinds."""

    def __init__(self, context: Context, call_device_function: DeviceCall) -> None:
        super().__init__(context)
        self.watch = context.launch.options.watch
        self.indexing = Indexing(context, self)
        self.arrays = WholeArrays(context)
        self.attributes = Attributes(context, self.variables, self.indexing)
        self.calls = Calls(context, self, call_device_function)
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
            ast.List: self.tuple_of,  # what a loop goes over: Numba makes no list of it, either
            ast.Subscript: self.indexing.subscript,
            ast.Call: self.calls.call,
            ast.NamedExpr: self.walrus,
            ast.Lambda: self.function,
        }

    def evaluate(self, node: ast.expr, mask: Mask) -> object:
        method = self.methods.get(type(node))
        if method is None:
            raise Unsupported(node, f"`{ast.unparse(node)}` cannot be compiled for a GPU")
        try:
            value = method(node, mask)
        except TypeProblem as problem:
            raise Unsupported(node, f"`{ast.unparse(node)}`: {problem}") from None
        if self.watch is None or not is_number(value):
            return value
        return self.watched_number(node, value, mask)

    def attribute(self, node: ast.Attribute, mask: Mask) -> object:
        value = self.evaluate(node.value, mask)
        try:
            return self.attributes.attribute(node, value, mask)
        except Unsupported:
            found = self.calls.registered_attribute(node, value, mask)
            if found is None:
                raise
            return found

    def watched_number(self, node: ast.expr | ast.AugAssign, value: Number, mask: Mask) -> Number:
        """A number as it is, or what the one who watches puts in its place."""
        if self.watch is None or not mask.any():
            return value
        source, team, launch = self.context.stack.source, self.context.team, self.context.launch
        return self.watch(Computed(source, node, value, mask, team, launch, self.evaluate))

    def condition(self, node: ast.expr, mask: Mask) -> Condition:
        """Where an expression is true."""
        return self.truth_of(node, self.evaluate(node, mask))

    def truth_of(self, node: ast.expr, value: object) -> Condition:
        if is_number(value):
            return truth(value)
        if value is None:
            return np.bool_(False)
        if isinstance(value, (tuple, str)):
            return np.bool_(len(value) > 0)
        return truth(self.as_number(node, value))

    # ------------------------------------------------------------ constants

    def constant(self, node: ast.Constant, mask: Mask) -> object:
        if isinstance(node.value, (bool, int, float, complex)):
            return typed(node.value)
        return node.value  # a string names a dtype; None; Ellipsis

    # ------------------------------------------------------------ arithmetic

    def binary_operation(self, node: ast.BinOp, mask: Mask) -> object:
        left, right = self.evaluate(node.left, mask), self.evaluate(node.right, mask)
        operation = type(node.op).__name__
        if operation == "MatMult":
            raise Unsupported(node, "`@` does not exist in kernels: write loops")
        if not (is_number(left) and is_number(right)):
            if isinstance(left, tuple) and operation in ("Add", "Mult"):
                return self.join_tuples(node, left, right)
            if isinstance(left, ArrayView) or isinstance(right, ArrayView):
                return self.arrays.apply(node, partial(binary, operation), [left, right], mask)
            small = operate(operation, left, right)
            if small is not None:
                return small
            left, right = self.as_number(node.left, left), self.as_number(node.right, right)
        result = binary(operation, left, right)
        self.doubles.check(node, (node.left, node.right), (left, right), result.dtype)
        return result

    def join_tuples(self, node: ast.BinOp, left: tuple, right: object) -> tuple:
        if isinstance(right, tuple) and isinstance(node.op, ast.Add):
            return (*left, *right)
        if is_number(right) and isinstance(node.op, ast.Mult) and np.ndim(right) == 0:
            return left * int(right)
        raise Unsupported(node, f"`{ast.unparse(node)}` cannot be computed in a kernel")

    def unary_operation(self, node: ast.UnaryOp, mask: Mask) -> object:
        value = self.evaluate(node.operand, mask)
        if isinstance(value, ArrayView) and not isinstance(node.op, ast.Not):
            return self.arrays.apply(node, partial(unary, type(node.op).__name__), [value], mask)
        if isinstance(node.op, ast.Not):
            return ~self.truth_of(node.operand, value)
        small = operate(type(node.op).__name__, value)
        if small is not None:
            return small
        return unary(type(node.op).__name__, self.as_number(node.operand, value))

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
        if is_number(left) and is_number(right) and not isinstance(operator, (ast.In, ast.NotIn)):
            name = type(operator).__name__
            self.doubles.check(node, parts, (left, right), None)
            return compare({"Is": "Eq", "IsNot": "NotEq"}.get(name, name), left, right)
        result = compare_others(operator, left, right)
        if result is None:
            raise Unsupported(node, f"`{ast.unparse(node)}` cannot be compared in a kernel")
        return result

    def boolean(self, node: ast.BoolOp, mask: Mask) -> Number:
        """`and`, `or`: the second operand is evaluated only in threads that need it."""
        is_and = isinstance(node.op, ast.And)
        result = self.number(node.values[0], mask)
        for operand in node.values[1:]:
            undecided = truth(result) if is_and else ~truth(result)
            if np.ndim(undecided) == 0:
                if not undecided:
                    return result
                result = self.number(operand, mask)
                continue
            value = self.number(operand, mask & undecided)
            dtype = common_dtype([value.dtype, result.dtype])
            result = np.where(undecided, convert(value, dtype), convert(result, dtype))
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
        return tuple(self.items(node.elts, mask))

    def function(self, node: ast.Lambda | ast.FunctionDef, mask: Mask) -> InnerFunction:
        """What `lambda`, or `def` inside the kernel, makes."""
        names = [argument.arg for argument in node.args.kwonlyargs]
        named = zip(names, node.args.kw_defaults, strict=True)
        defaults = [self.evaluate(value, mask) for value in node.args.defaults]
        by_name = {name: self.evaluate(value, mask) for name, value in named if value is not None}
        return inner_function(self.context.stack.frame, node, defaults, by_name)

    def walrus(self, node: ast.NamedExpr, mask: Mask) -> object:
        value = self.evaluate(node.value, mask)
        self.variables.bind(node.target.id, value, mask, node)
        return value
