"""Python's own functions in a kernel: `len`, `min`, `range`, `zip`, and those of `operator`."""

import ast
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...bfloat16 import BFloat16, operate
from ...names import CudaName
from ...numba_types import (
    BINARY,
    COMPARE,
    INT64,
    UNARY,
    Number,
    TypeProblem,
    binary,
    common_dtype,
    compare,
    convert,
    dtype_of_type,
    extreme,
    is_number,
    range_dtype,
    truth,
    typed,
    unary,
)
from ..context import Context
from ..memory.arrays import ArrayView
from ..stops import Unsupported
from ..teams import Mask
from ..values import EnumValue, Iteration, as_number
from .arithmetic_advice import DoublePrecision
from .comparisons import compare_others
from .evaluator import Evaluator
from .indexing import WholeArrays

# operator.add -> "Add", operator.lt -> "Lt", operator.neg -> "USub"
NAMES = {
    function: name for table in (BINARY, COMPARE, UNARY) for name, (function, _) in table.items()
}
IN_PLACE = {
    getattr(operator, f"i{function.__name__.rstrip('_')}"): function
    for function, _ in BINARY.values()
}


class PythonFunctions:
    """Calls functions of Python's own and of `operator`."""

    def __init__(
        self, context: Context, evaluator: Evaluator, doubles: DoublePrecision, arrays: WholeArrays
    ) -> None:
        self.context = context
        self.memory = context.memory
        self.team = context.team
        self.evaluator = evaluator
        self.doubles = doubles
        self.arrays = arrays
        # Each takes the call, its arguments, and a mask.
        self.methods: dict[Callable, Callable[[ast.Call, list[Any], Mask], object]] = {
            min: partial(self.extreme, min), max: partial(self.extreme, max), len: self.length,
            round: self.round, pow: self.power, divmod: self.divmod, sum: self.sum,
            range: self.range, enumerate: self.enumerate, zip: self.zip, reversed: self.reversed,
            print: self.print, isinstance: self.is_instance, tuple: self.tuple, iter: self.iterate,
            ord: self.code_of_character,
        }  # fmt: skip

    def call(
        self,
        node: ast.Call,
        function: Callable,
        arguments: list[object],
        keywords: dict[str, object],
        mask: Mask,
    ) -> object:
        method = self.methods.get(function)
        if method is None or (keywords and function is not enumerate):
            raise refused(node, function)
        return method(node, [*arguments, *keywords.values()], mask)

    def call_operator(
        self, node: ast.Call, function: Callable, arguments: list[Any], mask: Mask
    ) -> object:
        """operator.add(a, b) and its like."""
        function = IN_PLACE.get(function, function)
        name = NAMES.get(function)
        small = operate(name or "", *arguments)
        if small is not None:
            return small
        numbers = [number for number in map(as_number, arguments) if number is not None]
        if function in (operator.truth, operator.not_) and numbers:
            return truth(numbers[0]) if function is operator.truth else ~truth(numbers[0])
        if name in BINARY and len(arguments) == 2:
            return self.operate(node, partial(binary, name), arguments, mask)
        if name in COMPARE and len(arguments) == 2:
            if len(numbers) == 2:
                return compare(name, *numbers)
            result = compare_others(getattr(ast, name)(), *arguments)
            if result is not None:
                return result
        if name in UNARY and len(arguments) == 1:
            return self.operate(node, partial(unary, name), arguments, mask)
        raise Unsupported(node, f"`{ast.unparse(node)}` cannot be computed in a kernel")

    def operate(
        self, node: ast.Call, function: Callable, arguments: list[Any], mask: Mask
    ) -> object:
        if any(isinstance(argument, ArrayView) for argument in arguments):
            return self.arrays.apply(node, function, arguments, mask)
        numbers = [as_number(argument) for argument in arguments]
        if any(number is None for number in numbers):
            raise Unsupported(node, f"`{ast.unparse(node)}` takes numbers")
        return function(*numbers)

    def code_of_character(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Number:
        if len(arguments) != 1 or not isinstance(arguments[0], str) or len(arguments[0]) != 1:
            raise refused(node, ord)
        return np.uint32(ord(arguments[0]))

    # ------------------------------------------------------------ numbers

    def extreme(
        self, function: Callable, node: ast.Call, arguments: list[Any], mask: Mask
    ) -> Number:
        if len(arguments) == 1:
            arguments = self.items(node, arguments[0], mask)
        numbers = [number for number in map(as_number, arguments) if number is not None]
        if not numbers or len(numbers) != len(arguments):
            raise refused(node, function)
        dtype = common_dtype([number.dtype for number in numbers])
        self.doubles.check(node, node.args[:2], numbers[:2], dtype)
        return extreme(function, numbers)

    def round(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Number:
        value, *digits = self.numbers(node, arguments, 1, 2)
        if not digits:
            if value.dtype.kind in "iub":
                return convert(value, INT64)
            return np.round(value).astype(np.int64)
        if value.dtype.kind in "iub":
            return value
        # As Numba does it: scaled by a power of ten, rounded half to even.
        scale = np.power(10.0, np.abs(digits[0]).astype(np.float64))
        scale = np.where(digits[0] < 0, 1 / scale, scale)
        rounded = np.round(value * scale) / scale
        return convert(np.where(np.isfinite(rounded), rounded, value)[()], value.dtype)

    def power(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Number:
        base, exponent, *modulus = self.numbers(node, arguments, 2, 3)
        result = binary("Pow", base, exponent)
        return binary("Mod", result, modulus[0]) if modulus else result

    def divmod(self, node: ast.Call, arguments: list[Any], mask: Mask) -> tuple:
        numbers = self.numbers(node, arguments, 2, 2)
        return binary("FloorDiv", *numbers), binary("Mod", *numbers)

    def sum(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Number:
        total: Number = typed(0)
        start = [arguments[1]] if len(arguments) == 2 else []
        for item in [*start, *self.items(node, arguments[0], mask)]:
            number = as_number(item)
            if number is None:
                raise refused(node, sum)
            total = binary("Add", total, number)
        return total

    def numbers(
        self, node: ast.Call, arguments: Sequence[Any], least: int, most: int
    ) -> list[Number]:
        found = [number for number in map(as_number, arguments) if number is not None]
        if len(found) != len(arguments) or not least <= len(found) <= most:
            raise Unsupported(node, f"`{ast.unparse(node)}` takes numbers")
        return found

    # ------------------------------------------------------------ several values

    def length(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Number:
        (value,) = arguments
        if isinstance(value, ArrayView) and value.shape:
            return convert(np.asarray(value.shape[0])[()], INT64)
        if isinstance(value, Iteration):
            return convert(np.asarray(value.length)[()], INT64)
        if isinstance(value, (tuple, str, bytes)):
            return np.int64(len(value))
        if is_number(value) and value.dtype.kind in "SU":
            return np.char.str_len(value)
        raise refused(node, len)

    def items(self, node: ast.Call, values: object, mask: Mask) -> list[Any]:
        """All items of a tuple or an array."""
        if isinstance(values, tuple):
            return list(values)
        if isinstance(values, ArrayView):
            return self.arrays.elements(node, values, mask)
        iteration = self.iteration(node, values)
        if np.ndim(iteration.length):
            raise Unsupported(node, "the number of items must be the same in all threads")
        return [iteration.item(k, mask) for k in range(int(iteration.length))]

    def tuple(self, node: ast.Call, arguments: list[Any], mask: Mask) -> tuple:
        return tuple(self.items(node, arguments[0], mask)) if arguments else ()

    def iteration(self, node: ast.expr, values: object) -> Iteration:
        """What a `for` goes through. Raises `Unsupported` for what it cannot."""
        if isinstance(values, Iteration):
            return values
        if isinstance(values, tuple):
            return Iteration(len(values), lambda k, mask: values[k])
        if isinstance(values, ArrayView) and values.shape:
            array = values
            return Iteration(
                array.shape[0], lambda k, mask: self.memory.load(array, [np.int64(k)], mask, node)
            )
        raise Unsupported(node, f"a kernel cannot loop over `{ast.unparse(node)}`; use range")

    def iterate(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Iteration:
        return self.iteration(node, arguments[0])

    def range(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Iteration:
        numbers = self.numbers(node, arguments, 1, 3)
        begin, end, step = range_limits(node, numbers)
        count = -((begin - end) // np.where(step == 0, 1, step))
        length = np.maximum(count, 0)[()]
        kind = begin.dtype
        return Iteration(length, lambda k, mask: convert(begin + kind.type(k) * step, kind))

    def enumerate(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Iteration:
        values = self.iteration(node, arguments[0])
        start = as_number(arguments[1]) if len(arguments) > 1 else np.int64(0)
        assert start is not None
        return Iteration(
            values.length, lambda k, mask: (convert(start + k, INT64), values.item(k, mask))
        )

    def zip(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Iteration:
        parts = [self.iteration(node, values) for values in arguments]
        length: Any = 0 if not parts else parts[0].length
        for part in parts[1:]:
            length = np.minimum(length, part.length)
        return Iteration(length, lambda k, mask: tuple(part.item(k, mask) for part in parts))

    def reversed(self, node: ast.Call, arguments: list[Any], mask: Mask) -> Iteration:
        items = self.items(node, arguments[0], mask)[::-1]
        return Iteration(len(items), lambda k, mask: items[k])

    # ------------------------------------------------------------ the rest

    def is_instance(self, node: ast.Call, arguments: list[Any], mask: Mask) -> np.bool_:
        value, kinds = arguments
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        return np.bool_(any(is_of_kind(value, kind) for kind in kinds))

    def print(self, node: ast.Call, arguments: list[Any], mask: Mask) -> None:
        texts = [as_printed(argument) for argument in arguments]
        for position in np.flatnonzero(mask):
            print(*(text[position] if type(text) is np.ndarray else text for text in texts))


def range_limits(node: ast.Call, limits: list[Number]) -> tuple[Any, Any, Any]:
    """(begin, end, step), all of the type that the loop's variable gets."""
    try:
        dtype = range_dtype(*(limit.dtype for limit in limits))
    except TypeProblem as problem:
        raise Unsupported(node, f"`{ast.unparse(node)}`: {problem}") from None
    zero, one = dtype.type(0), dtype.type(1)
    limits = [convert(limit, dtype) for limit in limits]
    if len(limits) == 1:
        return zero, limits[0], one
    if len(limits) == 2:
        return limits[0], limits[1], one
    return limits[0], limits[1], limits[2]


def is_of_kind(value: object, kind: object) -> bool:
    if is_number(value):
        dtype = dtype_of_type(kind)
        if kind in (int, float, complex, bool):
            return value.dtype.kind in {int: "iu", float: "f", complex: "c", bool: "b"}[kind]
        return dtype is not None and value.dtype == dtype
    if isinstance(value, BFloat16):
        return isinstance(kind, CudaName) and kind.path == "bf16.bfloat16"
    if isinstance(value, EnumValue):
        return isinstance(kind, type) and issubclass(value.kind, kind)
    if isinstance(value, ArrayView):
        return kind is np.ndarray
    return isinstance(kind, type) and isinstance(value, kind)


def as_printed(value: object) -> object:
    """A vector for a number that differs between threads."""
    number = as_number(value)
    return value if number is None else number


def refused(node: ast.Call, function: Callable) -> Unsupported:
    return Unsupported(node, f"`{function.__name__}` cannot be called in a kernel")
