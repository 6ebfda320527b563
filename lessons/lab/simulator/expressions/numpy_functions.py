"""Functions of NumPy in a kernel, on numbers and on whole arrays."""

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype, from_dtype

from ...numba_types import Number, TypeProblem, convert, dtype_of_type, typing_context
from ..context import Context
from ..memory.arrays import ArrayView
from ..stops import Unsupported
from ..teams import Mask
from ..values import Call, as_number, as_numbers
from .indexing import WholeArrays

MAKERS = {np.empty: 0, np.zeros: 0, np.ones: 1}


class NumpyFunctions:
    """Calls functions of NumPy."""

    def __init__(self, context: Context, arrays: WholeArrays) -> None:
        self.team = context.team
        self.arrays = arrays

    def call(self, function: Callable, call: Call) -> object:
        if isinstance(function, np.ufunc):
            return self.ufunc(function, call)
        if function in MAKERS:
            return self.make(MAKERS[function], call)
        numbers = as_numbers(call.arguments)
        if numbers:
            return np.asarray(function(*numbers, **call.keywords))[()]
        return self.per_thread(function, call)

    def ufunc(self, function: np.ufunc, call: Call) -> object:
        """np.sin(x), np.add(a, b): of numbers, or element by element; np.sin(a, out)."""
        node, mask = call.node, call.mask
        inputs, outputs = call.arguments[: function.nin], call.arguments[function.nin :]
        outputs = outputs or [call.keywords[name] for name in ("out",) if name in call.keywords]
        compute = partial(call_ufunc, node, function)
        if not any(isinstance(value, (ArrayView, tuple)) for value in inputs):
            result: object = compute(*inputs)
        else:
            whole = [self.arrays.array_of(node, value, mask) if isinstance(value, tuple) else value
                     for value in inputs]  # fmt: skip
            result = self.arrays.apply(node, compute, whole, mask)
        if not outputs:
            return result
        self.arrays.fill(node, outputs[0], result, mask)
        return outputs[0]

    def make(self, value: int, call: Call) -> ArrayView:
        """np.zeros((2, 3), np.float32) and its like: an array of a thread's own."""
        arguments = [*call.arguments, *call.keywords.values()]
        dtype = dtype_of_type(arguments[1]) if len(arguments) > 1 else np.dtype(np.float64)
        sizes = as_numbers(arguments[0] if isinstance(arguments[0], tuple) else (arguments[0],))
        if dtype is None or sizes is None or any(map(np.ndim, sizes)):
            text = "an array needs a shape and a type that all threads share"
            raise Unsupported(call.node, text)
        lengths = tuple(map(int, sizes))
        filled: list[Number] = [dtype.type(value)] * int(np.prod(lengths))
        return self.arrays.temporary(lengths, dtype, filled)

    def per_thread(self, function: Callable, call: Call) -> object:
        """Any other function: NumPy's own, on the arrays of one thread after another."""
        node, mask = call.node, call.mask
        columns = [self.per_thread_values(node, argument, mask) for argument in call.arguments]
        results = {}
        for position in np.flatnonzero(mask):
            values = [column(int(position)) for column in columns]
            try:
                results[int(position)] = np.asarray(function(*values, **call.keywords))
            except (TypeError, ValueError) as error:
                raise Unsupported(node, f"`{ast.unparse(node)}`: {error}") from None
        first = next(iter(results.values()), np.zeros((), np.float64))
        table = np.zeros((first.size, self.team.size), first.dtype)
        for place, result in results.items():
            table[:, place] = result.reshape(-1)
        if not first.shape:
            return table[0]
        return self.arrays.temporary(first.shape, first.dtype, [*table])

    def per_thread_values(
        self, node: ast.Call, argument: Any, mask: Mask
    ) -> Callable[[int], object]:
        """position of a thread -> the value of an argument there."""
        if isinstance(argument, ArrayView):
            lengths = [self.team.full(np.int64(length)) for length in argument.shape]
            longest = self.arrays.longest(argument, mask)
            table = np.zeros((*longest, self.team.size), argument.dtype)
            for place, here in self.arrays.places(argument, mask):
                table[tuple(place)] = self.arrays.memory.load(argument, place, here, node)

            def of_thread(position: int) -> np.ndarray:
                own = tuple(slice(0, int(length[position])) for length in lengths)
                values: np.ndarray = table[..., position][own]
                return values

            return of_thread
        number = as_number(argument)
        if isinstance(number, np.ndarray):
            return number.__getitem__
        return lambda position: argument if number is None else number


def call_ufunc(node: ast.Call, function: np.ufunc, *values: object) -> Number:
    """Of numbers, with the types that Numba gives it."""
    numbers = as_numbers(values)
    if numbers is None:
        raise Unsupported(node, f"`{ast.unparse(node.func)}` takes numbers and arrays of them")
    result, expected = function(*numbers), types_of_ufunc(function, *(n.dtype for n in numbers))
    return convert(np.asarray(result)[()], expected)


def types_of_ufunc(function: np.ufunc, *dtypes: np.dtype) -> np.dtype:
    """The type of its result. Raises `TypeProblem`."""
    try:
        argument_types = tuple(map(from_dtype, dtypes))
        found = typing_context().resolve_function_type(function, argument_types, {})
        if found is not None and not isinstance(found.return_type, types.Array):
            return as_dtype(found.return_type)
    except (NumbaError, ValueError, TypeError):
        pass
    try:
        return function(*(np.zeros((), dtype)[()] + 1 for dtype in dtypes)).dtype
    except TypeError:
        raise TypeProblem(f"{function.__name__} does not accept {dtypes}") from None
