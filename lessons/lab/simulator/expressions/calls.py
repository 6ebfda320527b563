"""Calls in a kernel: functions of cuda, of mathematics, of Python, and device functions."""

import ast
import builtins
import types
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from lessons.lab.compile_checks import numpy_message
from lessons.lab.names import CudaName
from lessons.lab.numba_types import (
    INSTEAD_OF_NUMPY,
    MATH,
    Number,
    binary,
    call_math,
    common_dtype,
    convert,
    dtype_of_type,
    extreme,
    is_number,
)
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.cuda_functions.table import call_cuda
from lessons.lab.simulator.expressions.double_precision import DoublePrecision
from lessons.lab.simulator.expressions.emulation import call_emulation
from lessons.lab.simulator.expressions.evaluator import Evaluator
from lessons.lab.simulator.memory.arrays import ArrayView
from lessons.lab.simulator.stops import Unsupported
from lessons.lab.simulator.teams import Mask
from lessons.lab.source import Source, called_source


class DeviceCall(Protocol):
    """Runs a device function for the threads in `mask`. Returns what it returns."""

    def __call__(
        self,
        node: ast.Call,
        source: Source,
        arguments: Sequence[object],
        keywords: dict[str, object],
        mask: Mask,
    ) -> object: ...


class Calls:
    """Evaluates calls."""

    def __init__(
        self,
        context: Context,
        evaluator: Evaluator,
        doubles: DoublePrecision,
        call_device_function: DeviceCall,
    ) -> None:
        self.context = context
        self.reporter = context.reporter
        self.evaluator = evaluator
        self.doubles = doubles
        self.call_device_function = call_device_function

    def call(self, node: ast.Call, mask: Mask) -> object:
        evaluate = self.evaluator.evaluate
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise Unsupported(
                node, "a call with *arguments cannot be compiled here; write them out"
            )
        function = evaluate(node.func, mask)
        arguments = [evaluate(argument, mask) for argument in node.args]
        keywords = {str(k.arg): evaluate(k.value, mask) for k in node.keywords}
        if isinstance(function, CudaName):
            return call_cuda(self.context, node, function.path, arguments, keywords, mask)
        dtype = None if isinstance(function, str) else dtype_of_type(function)
        if dtype is not None:
            return self.cast(node, function, dtype, arguments)
        emulation = getattr(function, "emulation", None)
        if callable(emulation):
            return call_emulation(self.context, node, emulation, arguments, mask)
        if isinstance(function, types.ModuleType) or not callable(function):
            raise Unsupported(node, f"`{ast.unparse(node.func)}` is not a function")
        return self.call_python(node, function, arguments, keywords, mask)

    def cast(
        self, node: ast.Call, function: object, dtype: np.dtype, arguments: Sequence[object]
    ) -> Number:
        value = arguments[0] if len(arguments) == 1 else None
        if not is_number(value):
            raise Unsupported(node, f"`{ast.unparse(node)}` needs one number")
        if function is int and value.dtype.kind in "iu":
            return value
        if function is float and value.dtype.kind == "f":
            return value
        return convert(value, dtype)

    def call_python(
        self,
        node: ast.Call,
        function: Callable,
        arguments: list[object],
        keywords: dict[str, object],
        mask: Mask,
    ) -> object:
        name = ast.unparse(node.func)
        numbers = [argument for argument in arguments if is_number(argument)]
        only_numbers = len(numbers) == len(arguments)
        if type(function) is np.ufunc or getattr(function, "__module__", "").startswith("numpy"):
            return self.call_numpy(node, function, numbers if only_numbers else [])
        if function in MATH and only_numbers:
            result = call_math(function, numbers)
            self.doubles.check(node, node.args, numbers, result.dtype)
            return result
        if getattr(builtins, getattr(function, "__name__", ""), None) is function:
            return self.call_builtin(node, function, arguments, mask)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return function(*arguments, **keywords)
        if isinstance(function, type):
            raise Unsupported(node, f"`{name}`: objects of classes cannot be made in a kernel")
        source = called_source(function)
        if source is None:
            raise Unsupported(node, f"`{name}` cannot be called from a kernel")
        return self.call_device_function(node, source, arguments, keywords, mask)

    def call_numpy(self, node: ast.Call, function: Callable, numbers: Sequence[Number]) -> Number:
        """numbers: the arguments, or none of them if some are not numbers."""
        name = ast.unparse(node.func)
        instead = INSTEAD_OF_NUMPY.get(function)
        if instead is None or not numbers:
            raise Unsupported(
                node,
                f"`{name}` is a NumPy call: it makes or works on whole arrays, "
                "which a GPU thread cannot; use a loop, and cuda.local.array for small arrays",
            )
        self.reporter.add("compile", node, numpy_message(function, name))
        return call_math(instead, numbers)

    def call_builtin(
        self, node: ast.Call, function: Callable, arguments: list[object], mask: Mask
    ) -> object:
        if function in (min, max) and len(arguments) == 1 and isinstance(arguments[0], tuple):
            arguments = list(arguments[0])
        numbers = [argument for argument in arguments if is_number(argument)]
        only_numbers = len(numbers) == len(arguments)
        if function in (min, max) and len(arguments) > 1 and only_numbers:
            dtype = common_dtype([number.dtype for number in numbers])
            self.doubles.check(node, node.args[:2], numbers[:2], dtype)
            return extreme(function, numbers)
        if function is len and len(arguments) == 1:
            return self.length(node, arguments[0])
        if function is round and only_numbers and len(arguments) == 1:
            return np.round(numbers[0]).astype(np.int64)
        if function is pow and only_numbers and len(arguments) == 2:
            return binary("Pow", *numbers)
        if function is range:
            raise Unsupported(node, "range can only stand in a for loop")
        if function is print:
            self.print(arguments, mask)
            return None
        raise refused_builtin(node, function)

    def length(self, node: ast.Call, value: object) -> np.int64:
        if isinstance(value, ArrayView):
            return np.int64(value.shape[0])
        if isinstance(value, tuple):
            return np.int64(len(value))
        raise refused_builtin(node, len)

    def print(self, arguments: Sequence[object], mask: Mask) -> None:
        for position in np.flatnonzero(mask):
            print(*(a[position] if type(a) is np.ndarray else a for a in arguments))


def refused_builtin(node: ast.Call, function: Callable) -> Unsupported:
    return Unsupported(node, f"`{function.__name__}` cannot be called in a kernel")
