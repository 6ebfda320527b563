"""Arithmetic with the types Numba gives a kernel's numbers, on many threads at once.

Python's own numbers would hide what a GPU does: `1 << 40` never overflows, and a float is always
double. Here a value is a NumPy scalar (the same in all threads) or a NumPy vector (one element per
thread), always with the dtype that Numba would infer: an `int32` plus an `int32` is an `int64`,
a `float32` times the literal `0.5` is a `float64`. The rules are not written down a second time:
Numba's own type inference is asked, once for each combination.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.typing import Context
from numba.np.numpy_support import as_dtype, from_dtype

# A vector with one element per thread, or a scalar for all threads.
Number: TypeAlias = np.ndarray | np.number | np.bool_
Condition: TypeAlias = np.ndarray | np.bool_


class TypeProblem(Exception):
    """An operation that Numba has no types for; the message says which."""


BINARY: dict[str, tuple[Callable, np.ufunc]] = {
    "Add": (operator.add, np.add),
    "Sub": (operator.sub, np.subtract),
    "Mult": (operator.mul, np.multiply),
    "Div": (operator.truediv, np.true_divide),
    "FloorDiv": (operator.floordiv, np.floor_divide),
    "Mod": (operator.mod, np.remainder),
    "Pow": (operator.pow, np.power),
    "LShift": (operator.lshift, np.left_shift),
    "RShift": (operator.rshift, np.right_shift),
    "BitAnd": (operator.and_, np.bitwise_and),
    "BitOr": (operator.or_, np.bitwise_or),
    "BitXor": (operator.xor, np.bitwise_xor),
}
COMPARE: dict[str, tuple[Callable, np.ufunc]] = {
    "Eq": (operator.eq, np.equal),
    "NotEq": (operator.ne, np.not_equal),
    "Lt": (operator.lt, np.less),
    "LtE": (operator.le, np.less_equal),
    "Gt": (operator.gt, np.greater),
    "GtE": (operator.ge, np.greater_equal),
}
UNARY: dict[str, tuple[Callable, np.ufunc]] = {
    "USub": (operator.neg, np.negative),
    "UAdd": (operator.pos, np.positive),
    "Invert": (operator.invert, np.invert),
}


def on_each(function: Callable[..., float], at_pole: float = math.nan) -> Callable:
    """A function of Python on vectors; where it raises an error, the GPU has a value."""

    def one(*arguments: float) -> float:
        try:
            return function(*map(float, arguments))
        except ValueError:
            return at_pole
        except OverflowError:
            return math.inf

    return np.vectorize(one, otypes=[np.float64])


def gamma(x: Any) -> Any:
    """CUDA's tgamma: infinite at 0 and where it is too large, no number at -1, -2, ..."""
    return np.where(x == 0, np.copysign(np.inf, x), on_each(math.gamma)(x))


# But for those of `math_functions.MORE`.
MATH: dict[Callable, Callable] = {
    math.sqrt: np.sqrt, math.exp: np.exp, math.expm1: np.expm1, math.log: np.log,
    math.log2: np.log2, math.log10: np.log10, math.log1p: np.log1p, math.sin: np.sin,
    math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin, math.acos: np.arccos,
    math.atan: np.arctan, math.sinh: np.sinh, math.cosh: np.cosh, math.tanh: np.tanh,
    math.asinh: np.arcsinh, math.acosh: np.arccosh, math.atanh: np.arctanh,
    math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc, math.fabs: np.fabs,
    math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite,
    math.degrees: np.degrees, math.radians: np.radians, math.erf: on_each(math.erf),
    math.erfc: on_each(math.erfc), math.atan2: np.arctan2, math.hypot: np.hypot, math.pow: np.power,
    math.copysign: np.copysign, math.fmod: np.fmod, math.ldexp: np.ldexp, abs: np.abs,
}  # fmt: skip
# They return whole numbers in Python and on a CPU; on a GPU, floats of the type they were given.
STAY_FLOATS = math.floor, math.ceil, math.trunc
# Functions of NumPy that work on single numbers, and what a kernel calls instead. Looked up by the
# function itself: `np.abs` calls itself "absolute".
INSTEAD_OF_NUMPY: dict[Callable, Callable] = {
    vectorised: function for function, vectorised in MATH.items() if type(vectorised) is np.ufunc
}

# Functions of NumPy that Numba compiles for a GPU: those of one number or two, and some of arrays.
NAMES_OF_COMPILED_NUMPY = (
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "conj",
    "conjugate", "cos", "cosh", "deg2rad", "degrees", "divide", "equal", "fmax", "fmin", "greater",
    "greater_equal", "hypot", "invert", "isnan", "left_shift", "less", "less_equal", "log", "log10",
    "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "not_equal", "rad2deg", "radians", "right_shift", "sin", "sinh", "tan", "tanh", "true_divide",
    "all", "angle", "any", "argmax", "argmin", "around", "asarray", "atleast_1d", "average",
    "broadcast_shapes", "count_nonzero", "dsplit", "imag", "iscomplexobj", "isrealobj", "isscalar",
    "mean", "nan_to_num", "nanmean", "nanprod", "nanstd", "nansum", "nanvar", "prod", "real",
    "round", "searchsorted", "shape", "sinc", "size", "std", "sum", "var", "vsplit",
)  # fmt: skip
COMPILED_NUMPY = {
    getattr(np, name) for name in NAMES_OF_COMPILED_NUMPY if hasattr(np, name)
}  # some names are newer than the oldest NumPy that is supported

HALF = np.dtype(np.float16)
# Functions of one number in half precision, and what operators can combine it with and keep
# half precision.
MATH_OF_HALVES = (
    math.ceil, math.cos, math.exp, math.fabs, math.floor, math.log, math.log10, math.log2, math.sin,
    math.sqrt, math.trunc,
)  # fmt: skip
HALVES_STAY = frozenset(map(np.dtype, (np.float16, np.int8, np.uint8, np.bool_)))
OPERATORS = frozenset(
    [abs, operator.neg, operator.pos, *(python for python, _ in COMPARE.values())]
    + [BINARY[name][0] for name in ("Add", "Sub", "Mult", "Div")]
)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
FLOAT64 = np.dtype(np.float64)
FLOAT32 = np.dtype(np.float32)
TYPES_OF_PYTHON = {
    int: INT64, float: FLOAT64, complex: np.dtype(np.complex128), bool: np.dtype(np.bool_),
}  # fmt: skip


def name_of_math(function: Callable) -> str:
    """ "math.sqrt", "abs": a function as a kernel writes it."""
    return function.__name__ if function is abs else f"math.{function.__name__}"


def typed(value: complex | np.number | np.bool_) -> np.number | np.bool_:
    """A Python or NumPy number as a NumPy scalar of the type Numba gives it.

    Raises `TypeProblem` for a whole number that does not fit into 64 bits.
    """
    if isinstance(value, (np.number, np.bool_)):
        return value
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return np.int64(value)
        if 0 <= value < 1 << 64:
            return np.uint64(value)
        raise TypeProblem(f"the number {value} does not fit into 64 bits")
    if isinstance(value, complex):
        return np.complex128(value)
    return np.float64(value)


def is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, np.generic) or type(value) is np.ndarray


def convert(value: Number, dtype: np.dtype) -> Number:
    if value.dtype == dtype:
        return value
    if dtype.kind in "iu" and value.dtype.kind == "f":
        # On a GPU, what is no number becomes the whole number 0.
        value = np.where(value == value, value, 0)[()]
    return value.astype(dtype)


@functools.cache
def typing_context() -> Context:
    context = cpu_target.typing_context
    context.refresh()
    return context


@functools.lru_cache(maxsize=4096)
def signature(function: Callable, *dtypes: np.dtype) -> tuple[tuple[np.dtype, ...], np.dtype]:
    """(argument dtypes, result dtype) that Numba infers for a call. Raises `TypeProblem`."""
    if HALF in dtypes and stays_half(function, dtypes):
        # As a GPU computes. For a CPU, Numba would go over to single precision.
        is_comparison = any(function is python for python, _ in COMPARE.values())
        return (HALF,) * len(dtypes), np.dtype(np.bool_) if is_comparison else HALF
    argument_types = tuple(map(from_dtype, dtypes))
    try:
        found = typing_context().resolve_function_type(function, argument_types, {})
    except (NumbaError, ValueError, TypeError):
        found = None
    if found is None:
        name = getattr(function, "__name__", str(function))
        raise TypeProblem(f"{name} does not accept {' and '.join(map(str, dtypes))}")
    return tuple(as_dtype(t) for t in found.args), as_dtype(found.return_type)


@functools.lru_cache(maxsize=256)
def range_dtype(*dtypes: np.dtype) -> np.dtype:
    """The type of the variable of a loop over `range`; floats count as whole numbers there.

    Raises `TypeProblem` for what is no real number.
    """
    try:
        found = typing_context().resolve_function_type(range, tuple(map(from_dtype, dtypes)), {})
    except (NumbaError, NotImplementedError):
        raise TypeProblem(f"range does not accept {' and '.join(map(str, dtypes))}") from None
    return as_dtype(found.return_type.dtype)


def stays_half(function: Callable, dtypes: tuple[np.dtype, ...]) -> bool:
    if function in MATH_OF_HALVES:
        return dtypes == (HALF,)
    return function in OPERATORS and HALVES_STAY.issuperset(dtypes)


def binary(operation: str, left: Number, right: Number) -> Number:
    """Apply a binary operator of the syntax tree ("Add", "Mult", ...)."""
    python, vectorised = BINARY[operation]
    if operation == "Pow" and left.dtype.kind == "f" and right.dtype.kind in "iu":
        return vectorised(left, right.astype(left.dtype))
    _, result = signature(python, left.dtype, right.dtype)
    if operation == "Pow" and result.kind == "i":
        return integer_power(convert(left, result), convert(right, result))
    return vectorised(convert(left, result), convert(right, result))


def integer_power(base: Number, exponent: Number) -> Number:
    """A power of whole numbers as Numba computes it, which has results for negative exponents."""
    negative = exponent < 0
    if not np.any(negative):
        return np.power(base, exponent)
    power = np.power(base, np.abs(exponent))
    lowest = np.iinfo(power.dtype).min  # Numba's 1 / 0 of whole numbers
    inverse = np.where(base == 0, lowest, np.where(np.abs(base) == 1, power, 0))
    return np.where(negative, inverse, power).astype(power.dtype)[()]


def compare(operation: str, left: Number, right: Number) -> Condition:
    """Apply a comparison of the syntax tree ("Eq", "Lt", ...)."""
    python, vectorised = COMPARE[operation]
    arguments, _ = signature(python, left.dtype, right.dtype)
    common = arguments[0] if arguments[0] == arguments[1] else np.promote_types(*arguments)
    return vectorised(convert(left, common), convert(right, common))


def unary(operation: str, value: Number) -> Number:
    """Apply an operator of the syntax tree with one operand ("USub", "Invert", ...)."""
    python, vectorised = UNARY[operation]
    _, result = signature(python, value.dtype)
    return vectorised(convert(value, result))


def call_math(function: Callable, arguments: Sequence[Number]) -> Number:
    """Apply a function of the `math` module, or `abs`."""
    _, result = signature(function, *(a.dtype for a in arguments))
    if function in STAY_FLOATS and arguments[0].dtype.kind in "iubf":
        result = FLOAT32 if arguments[0].dtype == FLOAT32 else FLOAT64
    inputs = [convert(a, FLOAT64) if a.dtype.kind in "iub" and function is not abs else a
              for a in arguments]  # fmt: skip
    return convert(np.asarray(MATH[function](*inputs))[()], result)


def extreme(function: Callable, arguments: Sequence[Number]) -> Number:
    """Python's `min` or `max` of two or more numbers."""
    vectorised = np.minimum if function is min else np.maximum
    dtype = common_dtype([a.dtype for a in arguments])
    result = convert(arguments[0], dtype)
    for argument in arguments[1:]:
        result = vectorised(result, convert(argument, dtype))
    return result


def common_dtype(dtypes: Sequence[np.dtype]) -> np.dtype:
    """The type of a variable that has one of these types on each path through a kernel."""
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = np.promote_types(result, dtype)
    return result


def truth(value: Number) -> Condition:
    return value.astype(np.bool_, copy=False)


def dtype_of_type(kind: object) -> np.dtype | None:
    """NumPy dtype of `numba.float32`, `np.float32`, "float32", `int`, ...; None for others."""
    if isinstance(kind, (types.Number, types.Boolean, types.Record)):
        return dtype_or_none(kind)
    if isinstance(kind, type) and issubclass(kind, np.generic):
        return np.dtype(kind)
    if isinstance(kind, np.dtype):
        return kind
    if isinstance(kind, type) and kind in TYPES_OF_PYTHON:
        return TYPES_OF_PYTHON[kind]
    if isinstance(kind, str):
        return dtype_named(kind)
    if isinstance(kind, types.NumberClass):
        return dtype_or_none(kind.instance_type)
    if type(kind).__module__.startswith("numba_cuda_mlir"):
        found: Any = kind
        return found.dtype if hasattr(found, "fields") else dtype_named(str(found))
    return None


def dtype_named(name: str) -> np.dtype | None:
    """Also of a type of numba-cuda-mlir, which has classes of its own for types of such names."""
    try:
        return np.dtype({"boolean": "bool"}.get(name, name))
    except (TypeError, ValueError):
        return None


def dtype_or_none(kind: types.Type) -> np.dtype | None:
    """NumPy's dtype of a type of Numba; None for one that NumPy has not, such as bfloat16."""
    try:
        return as_dtype(kind)
    except NumbaError:
        return None
