"""Calls: functions of `cuda`, `math`, Python's own, device functions."""

import ast
import builtins
import operator
import types
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numba.core import types as kinds
from numba.core.errors import NumbaError
from numba.core.types import Type
from numba.np.numpy_support import from_dtype

from ...bfloat16 import call_math
from ...compile_words import is_numpy_function
from ...math_functions import call_any_math, complex_of, is_math
from ...names import UNROLL, CudaName
from ...numba_types import Number, convert, dtype_of_type, is_number
from ...overloads import (
    attribute_templates,
    first_implementation,
    members_of,
    templates_of,
    type_made_by,
)
from ...signatures import Signature, best, dtype_of, signatures_of
from ...source import Source, called_source, read_source
from ..context import Context
from ..cuda_functions.table import call_cuda
from ..memory.arrays import ArrayView
from ..memory.checker import atomic_add
from ..stops import Unsupported
from ..teams import WARP, Mask, Team
from ..values import Call, InnerFunction, Method, as_number, as_numbers
from .arithmetic_advice import Narrowing
from .attributes import Methods
from .evaluator import Evaluator
from .indexing import WholeArrays
from .numpy_functions import NumpyFunctions
from .python_functions import PythonFunctions

Result = TypeVar("Result")
# Runs a device function: its source, the call, and the frame that defined it if a kernel did.
# Returns what it returns.
DeviceCall: TypeAlias = Callable[..., object]

# Types of Python, and the numbers that each leaves as they are.
KEPT: dict[object, str] = {int: "iu", float: "f", complex: "c"}
NUMBER_TYPES = (bool, int, float, complex)


class Calls:
    """Evaluates calls."""

    def __init__(
        self, context: Context, expressions: Evaluator, call_device_function: DeviceCall
    ) -> None:
        arrays = WholeArrays(context)
        self.context = context
        self.expressions = expressions
        self.narrowing = Narrowing(context.team, context.reporter)
        self.call_device_function = call_device_function
        self.python = PythonFunctions(context, expressions.doubles, arrays)
        self.numpy = NumpyFunctions(context, arrays)
        self.methods = Methods(context, arrays, self.numpy)

    def registered_attribute(self, node: ast.Attribute, value: object, mask: Mask) -> object:
        """An attribute that the extension API has given a type; None if it has not."""
        name, owner = node.attr, getattr(type(value), "python_class", None)
        templates = attribute_templates(numba_type(value), name)
        if not templates and owner is not None:
            own = getattr(owner, name, None)
            getter = own.fget if isinstance(own, property) else None
            templates = [
                function for function in (getter, own) if isinstance(function, FunctionType)
            ]
            is_method = getter is None
        else:
            is_method = any(template.is_method for template in templates)
        if not templates:
            return None
        method = Method(value, name, tuple(templates))
        place = cast(ast.Call, node)  # a property is called where it is named
        return method if is_method else self.call_registered(method, Call(place, [], {}, mask))

    def call(self, node: ast.Call, mask: Mask) -> object:
        evaluate = self.expressions.evaluate
        function, arguments = evaluate(node.func, mask), self.expressions.items(node.args, mask)
        keywords = {str(k.arg): evaluate(k.value, mask) for k in node.keywords}
        return self.call_value(function, Call(node, arguments, keywords, mask))

    def call_value(self, function: object, call: Call) -> object:
        """What a function returns; the function is a value of the kernel's."""
        if isinstance(function, CudaName):
            return call_cuda(self.context, function.path, call)
        if isinstance(function, Method) and function.templates:
            return self.call_registered(function, call)
        if isinstance(function, Method):
            return attempt(call, self.methods.call, function, call)
        if isinstance(function, InnerFunction):
            return self.call_device_function(function.source, call, function.frame)
        if function in NUMBER_TYPES or not isinstance(function, (str, bytes, type(None))):
            dtype = dtype_of_type(function)
            if dtype is not None:
                return self.cast(function, dtype, call)
        emulation = getattr(function, "emulation", None)
        if callable(emulation):
            return call_emulation(self.context, emulation, call)
        if isinstance(function, types.ModuleType) or not callable(function):
            raise Unsupported(call.node, f"`{ast.unparse(call.node.func)}` is not a function")
        return self.call_python(function, call)

    def call_registered(self, method: Method, call: Call) -> object:
        """What `@overload_method` or `@overload_attribute` gives for a value."""
        values = [method.owner, *call.arguments]
        named = {name: numba_type(value) for name, value in call.keywords.items()}
        templates = method.templates
        if isinstance(templates[0], FunctionType):  # a property of the class itself
            found: FunctionType | None = templates[0]
        else:
            found = first_implementation(templates, list(map(numba_type, values)), named)
        if found is None:
            text = ast.unparse(call.node)
            raise Unsupported(call.node, f"`{text}`: no overload fits these arguments")
        return self.call_device_function(read_source(found), call._replace(arguments=values))

    def cast(self, function: object, dtype: np.dtype, call: Call) -> Number:
        node, arguments = call.node, call.arguments
        if function is complex and len(arguments) == 2:
            numbers = as_numbers(arguments)
            if numbers is None:
                raise Unsupported(node, f"`{ast.unparse(node)}` takes numbers")
            return complex_of(*numbers)
        if function is float and len(arguments) == 1 and isinstance(arguments[0], str):
            return float_of_text(node, arguments[0])
        value = as_number(arguments[0]) if len(arguments) == 1 else None
        if value is None:
            raise Unsupported(node, f"`{ast.unparse(node)}` needs one number")
        if value.dtype.kind in KEPT.get(function, ""):
            return value
        if dtype.itemsize < value.dtype.itemsize:
            self.narrowing.check(node, value, dtype, call.mask)
        return convert(value, dtype)

    def call_python(self, function: Callable, call: Call) -> object:
        node, arguments = call.node, call.arguments
        if is_numpy_function(function):
            return attempt(call, self.numpy.call, function, call)
        small = call_math(function, arguments)
        if small is not None:
            return small
        numbers = as_numbers(arguments) if is_math(function) else None
        if numbers is not None:
            result = attempt(call, call_any_math, function, numbers)
            if is_number(result):
                self.expressions.doubles.check(node, node.args, numbers, result.dtype)
            return result
        if getattr(builtins, getattr(function, "__name__", ""), None) is function:
            return attempt(call, self.python.call, function, call)
        if is_operator(function):
            return attempt(call, self.python.call_operator, function, call)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return attempt(call, partial(function, *arguments, **call.keywords))
        if function in UNROLL:
            return arguments[0]
        if isinstance(function, type):
            made = registered_object(function, call)
            if made is not None:
                return made
            text = f"`{ast.unparse(node.func)}`: objects of classes cannot be made in a kernel"
            raise Unsupported(node, text)
        source = called_source(overload_of(function, call) or function)
        if source is None:
            raise Unsupported(node, f"`{ast.unparse(node.func)}` cannot be called from a kernel")
        signatures = signatures_of(function)
        if signatures:
            return self.call_with_signature(source, signatures, call)
        return self.call_device_function(source, call)

    def call_with_signature(
        self, source: Source, signatures: Sequence[Signature], call: Call
    ) -> object:
        """A device function with explicit types: what it takes and returns is converted to them."""
        arguments = call.arguments
        fitting = [s for s in signatures if len(s.arguments) == len(arguments)]
        if not fitting:
            name = source.function.__name__
            raise Unsupported(call.node, f"{name} has another number of arguments")
        kinds = tuple(map(numba_type, arguments)) if len(fitting) > 1 else ()
        chosen = best(fitting, kinds) or fitting[0]
        given = list(map(convert_to, chosen.arguments, arguments))
        converted = call._replace(arguments=given, keywords={})
        result = self.call_device_function(source, converted)
        return result if chosen.result is None else convert_to(chosen.result, result)


def attempt(call: Call, function: Callable[..., Result], *arguments: Any) -> Result:
    """function(*arguments), for a call whose own may be too many, too few or of the wrong kind."""
    try:
        return function(*arguments)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        text = ast.unparse(call.node)
        raise Unsupported(call.node, f"`{text}` cannot be called with these arguments") from None


def float_of_text(node: ast.Call, text: str) -> np.float64:
    """float("nan") and its like."""
    try:
        return np.float64(float(text))
    except ValueError:
        raise Unsupported(node, f"`{ast.unparse(node)}` is not a number") from None


def is_operator(function: object) -> bool:
    return getattr(operator, getattr(function, "__name__", ""), None) is function


def convert_to(kind: Type, value: object) -> object:
    dtype = dtype_of(kind)
    return convert(value, dtype) if dtype is not None and is_number(value) else value


# ---------------------------------------------------------------- functions with @overload


def overload_of(function: object, call: Call) -> Callable | None:
    """The Python function that stands for another with these arguments; None if there is none."""
    templates = templates_of(function) if isinstance(function, FunctionType) else []
    if not templates:
        return None
    node, given = call.node, list(map(numba_type, call.arguments))
    if len(node.args) == len(given):
        given = list(map(known_type, node.args, given))
    named = {str(k.arg): known_type(k.value, numba_type(call.keywords[str(k.arg)]))
             for k in node.keywords}  # fmt: skip
    return first_implementation(templates, given, named)


def known_type(node: ast.expr, kind: Type) -> Type:
    """The type of an argument; of a whole number or a text in the source, that of its value."""
    value = node.value if isinstance(node, ast.Constant) else None
    return kinds.literal(value) if isinstance(value, (int, str)) else kind


def registered_object(function: type, call: Call) -> object:
    """An object of a class that numba-cuda's extension API knows: its members, as a NamedTuple.

    None if the class is not registered, or does not take its members one by one.
    """
    kind = type_made_by(function, list(map(numba_type, call.arguments)))
    members = members_of(kind) if kind is not None else {}
    if not members or call.keywords or len(members) != len(call.arguments):
        return None
    fields: Any = namedtuple(function.__name__, members)  # type: ignore[misc]
    made = type(function.__name__, (fields,), {"numba_type": kind, "python_class": function})
    return made(*map(convert_to, members.values(), call.arguments))


def numba_type(value: object) -> Any:
    """The type that Numba gives a value of a kernel."""
    registered = getattr(type(value), "numba_type", None)
    if registered is not None:
        return registered
    try:
        if is_number(value):
            return from_dtype(value.dtype)
        if isinstance(value, ArrayView):
            return kinds.Array(from_dtype(value.dtype), len(value.shape), "C")
    except (NumbaError, NotImplementedError):
        return kinds.undefined
    if isinstance(value, tuple):
        return kinds.BaseTuple.from_types([numba_type(item) for item in value])
    if isinstance(value, str):
        return kinds.unicode_type
    if isinstance(value, np.dtype):
        return kinds.DType(from_dtype(value))
    return kinds.none if value is None else kinds.undefined


# -------------------------------------------------------- raw instructions with an emulation

# An instruction such as those of `kernels/fast/ptx.py` has an attribute `emulation`: a function
# that takes and returns (warps, 32) tables, one row per warp and one column per lane.


def call_emulation(context: Context, emulation: Callable, call: Call) -> object:
    """Value of a call of a raw instruction: a number per thread, a tuple of them, or None."""
    team = context.team
    result = emulation(*(as_table(context, argument, call) for argument in call.arguments))
    if result is None:
        return None
    if isinstance(result, tuple):
        return tuple(map(team.from_lanes, result))
    return team.from_lanes(result)


def as_table(context: Context, argument: object, call: Call) -> "np.ndarray | WarpArray":
    if is_number(argument):
        return context.team.by_lane(argument)
    if isinstance(argument, ArrayView):
        return WarpArray(context, argument, call.mask, call.node)
    raise Unsupported(call.node, f"`{ast.unparse(call.node)}` takes numbers and arrays")


class WarpArray:
    """An array as an emulation sees it: indexed with tables, and checked like any access."""

    def __init__(self, context: Context, view: ArrayView, mask: Mask, node: ast.Call) -> None:
        self.team: Team = context.team
        self.memory = context.memory
        self.happens_before = context.launch.happens_before
        self.view = view
        self.mask = mask
        self.node = node

    def __getitem__(self, index: Any) -> np.ndarray:
        value = self.memory.load(self.view, self.indices(index), self.mask, self.node)
        if not is_number(value):
            raise Unsupported(self.node, f"{self.view.memory.name} needs an index per dimension")
        return self.team.by_lane(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        indices, vector = self.indices(index), self.per_thread(value)
        self.memory.store(self.view, indices, vector, self.mask, self.node)

    def add(self, index: Any, value: Any) -> np.ndarray | None:
        """Add atomically. Returns what was there before, unless nobody looks at it."""
        indices, vector = self.indices(index), self.per_thread(value)
        old = self.memory.change(self.view, indices, vector, atomic_add, self.mask, self.node)
        return None if old is None else self.team.by_lane(old)

    def release(self, index: Any, value: Any) -> None:
        """Add atomically; whoever acquires what was added knows what this block did before."""
        order, threads = self.happens_before, self.team.threads[self.mask]
        order.fences.fence(order, threads, only_block=False)
        self.add(index, value)

    def acquire(self, index: Any) -> np.ndarray | None:
        """Read atomically what others release."""
        return self.add(index, self.view.dtype.type(0))

    def indices(self, index: Any) -> list[Number]:
        return [self.per_thread(part) for part in (index if isinstance(index, tuple) else (index,))]

    def per_thread(self, table: Any) -> np.ndarray:
        return self.team.from_lanes(np.broadcast_to(table, (self.team.size // WARP, WARP)))
