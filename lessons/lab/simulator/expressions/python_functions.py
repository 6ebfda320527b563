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
from ..values import Call, EnumValue, Iteration, as_number, as_numbers
from .arithmetic_advice import DoublePrecision
from .comparisons import compare_others
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

    def __init__(self, context: Context, doubles: DoublePrecision, arrays: WholeArrays) -> None:
        self.memory = context.memory
        self.doubles = doubles
        self.arrays = arrays
        # Each takes the call, and returns its value.
        self.methods: dict[Callable, Callable[[Call], object]] = {
            min: partial(self.extreme, min), max: partial(self.extreme, max), len: self.length,
            round: self.round, pow: self.power, divmod: self.divmod, sum: self.sum,
            range: self.range, enumerate: self.enumerate, zip: self.zip, reversed: self.reversed,
            print: self.print, isinstance: self.is_instance, tuple: self.tuple, iter: self.iterate,
            ord: self.code_of_character,
        }  # fmt: skip

    def call(self, function: Callable, call: Call) -> object:
        method = self.methods.get(function)
        if method is None or (call.keywords and function is not enumerate):
            raise refused(call, function)
        return method(call)

    def call_operator(self, function: Callable, call: Call) -> object:
        """operator.add(a, b) and its like."""
        node, arguments = call.node, call.arguments
        function = IN_PLACE.get(function, function)
        name = NAMES.get(function)
        small = operate(name or "", *arguments)
        if small is not None:
            return small
        numbers = [number for number in map(as_number, arguments) if number is not None]
        if function in (operator.truth, operator.not_) and numbers:
            return truth(numbers[0]) if function is operator.truth else ~truth(numbers[0])
        if name in BINARY and len(arguments) == 2:
            return self.operate(partial(binary, name), call)
        if name in COMPARE and len(arguments) == 2:
            if len(numbers) == 2:
                return compare(name, *numbers)
            result = compare_others(getattr(ast, name)(), *arguments)
            if result is not None:
                return result
        if name in UNARY and len(arguments) == 1:
            return self.operate(partial(unary, name), call)
        raise Unsupported(node, f"`{ast.unparse(node)}` cannot be computed in a kernel")

    def operate(self, function: Callable, call: Call) -> object:
        if any(isinstance(argument, ArrayView) for argument in call.arguments):
            return self.arrays.apply(call.node, function, call.arguments, call.mask)
        return function(*self.numbers(call.node, call.arguments, 1, 2))

    def code_of_character(self, call: Call) -> Number:
        match call.arguments:
            case [str() as text] if len(text) == 1:
                return np.uint32(ord(text))
        raise refused(call, ord)

    # ------------------------------------------------------------ numbers

    def extreme(self, function: Callable, call: Call) -> Number:
        node, arguments = call.node, call.arguments
        if len(arguments) == 1:
            arguments = self.items(call)
        numbers = as_numbers(arguments)
        if not numbers:
            raise refused(call, function)
        dtype = common_dtype([number.dtype for number in numbers])
        self.doubles.check(node, node.args[:2], numbers[:2], dtype)
        return extreme(function, numbers)

    def round(self, call: Call) -> Number:
        value, *digits = self.numbers(call.node, call.arguments, 1, 2)
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

    def power(self, call: Call) -> Number:
        base, exponent, *modulus = self.numbers(call.node, call.arguments, 2, 3)
        result = binary("Pow", base, exponent)
        return binary("Mod", result, modulus[0]) if modulus else result

    def divmod(self, call: Call) -> tuple:
        numbers = self.numbers(call.node, call.arguments, 2, 2)
        return binary("FloorDiv", *numbers), binary("Mod", *numbers)

    def sum(self, call: Call) -> Number:
        total: Number = typed(0)
        start = [call.arguments[1]] if len(call.arguments) == 2 else []
        for item in [*start, *self.items(call)]:
            number = as_number(item)
            if number is None:
                raise refused(call, sum)
            total = binary("Add", total, number)
        return total

    def numbers(
        self, node: ast.Call, arguments: Sequence[Any], least: int, most: int
    ) -> list[Number]:
        found = as_numbers(arguments)
        if found is None or not least <= len(found) <= most:
            raise Unsupported(node, f"`{ast.unparse(node)}` takes numbers")
        return found

    # ------------------------------------------------------------ several values

    def length(self, call: Call) -> Number:
        (value,) = call.arguments
        if isinstance(value, ArrayView) and value.shape:
            return convert(np.asarray(value.shape[0])[()], INT64)
        if isinstance(value, Iteration):
            return convert(np.asarray(value.length)[()], INT64)
        if isinstance(value, (tuple, str, bytes)):
            return np.int64(len(value))
        if is_number(value) and value.dtype.kind in "SU":
            return np.char.str_len(value)
        raise refused(call, len)

    def items(self, call: Call) -> list[Any]:
        """All items of a tuple or an array, which is the first argument."""
        node, values, mask = call.node, call.arguments[0], call.mask
        if isinstance(values, tuple):
            return list(values)
        if isinstance(values, ArrayView):
            return self.arrays.elements(node, values, mask)
        iteration = self.iteration(node, values)
        if np.ndim(iteration.length):
            raise Unsupported(node, "the number of items must be the same in all threads")
        return [iteration.item(k, mask) for k in range(int(iteration.length))]

    def tuple(self, call: Call) -> tuple:
        return tuple(self.items(call)) if call.arguments else ()

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

    def iterate(self, call: Call) -> Iteration:
        return self.iteration(call.node, call.arguments[0])

    def range(self, call: Call) -> Iteration:
        begin, end, step = range_limits(call.node, self.numbers(call.node, call.arguments, 1, 3))
        count = -((begin - end) // np.where(step == 0, 1, step))
        length = np.maximum(count, 0)[()]
        kind = begin.dtype
        return Iteration(length, lambda k, mask: convert(begin + kind.type(k) * step, kind))

    def enumerate(self, call: Call) -> Iteration:
        _, start = [*call.arguments, *call.keywords.values(), np.int64(0)][:2]
        values, start = self.iterate(call), as_number(start)
        assert start is not None
        return Iteration(
            values.length, lambda k, mask: (convert(start + k, INT64), values.item(k, mask))
        )

    def zip(self, call: Call) -> Iteration:
        parts = [self.iteration(call.node, values) for values in call.arguments]
        length: Any = 0 if not parts else parts[0].length
        for part in parts[1:]:
            length = np.minimum(length, part.length)
        return Iteration(length, lambda k, mask: tuple(part.item(k, mask) for part in parts))

    def reversed(self, call: Call) -> Iteration:
        items = self.items(call)[::-1]
        return Iteration(len(items), lambda k, mask: items[k])

    # ------------------------------------------------------------ the rest

    def is_instance(self, call: Call) -> np.bool_:
        value, kinds = call.arguments
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        return np.bool_(any(is_of_kind(value, kind) for kind in kinds))

    def print(self, call: Call) -> None:
        numbers = zip(call.arguments, map(as_number, call.arguments), strict=True)
        texts: list[Any] = [value if number is None else number for value, number in numbers]
        for position in np.flatnonzero(call.mask):
            print(*(text[position] if type(text) is np.ndarray else text for text in texts))


def range_limits(node: ast.Call, limits: list[Number]) -> tuple[Any, Any, Any]:
    """(begin, end, step), all of the type that the loop's variable gets."""
    try:
        dtype = range_dtype(*(limit.dtype for limit in limits))
    except TypeProblem as problem:
        raise Unsupported(node, f"`{ast.unparse(node)}`: {problem}") from None
    first, *others = (convert(limit, dtype) for limit in limits)
    if not others:
        return dtype.type(0), first, dtype.type(1)
    return first, others[0], others[1] if len(others) > 1 else dtype.type(1)


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


def refused(call: Call, function: Callable) -> Unsupported:
    return Unsupported(call.node, f"`{function.__name__}` cannot be called in a kernel")
