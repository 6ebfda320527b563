"""Functions of numbers: bits, vector types, half precision, bfloat16, `libdevice`."""

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...bfloat16 import FUNCTIONS as ON_BFLOAT16
from ...bfloat16 import BFloat16, maximum, minimum
from ...errors import InputError
from ...libdevice import as_result, call_libdevice
from ...names import VECTORS
from ...numba_types import FLOAT32, FLOAT64, Number, common_dtype, convert, is_number, truth
from ..context import Context
from ..memory.arrays import ArrayView
from ..stops import NotSimulated, Unsupported
from ..values import Call, Vector, VectorType, as_number, as_numbers
from .arrays import indices_of


def numbers(call: Call, count: int) -> list[Number]:
    """The arguments of a function that takes `count` numbers."""
    found = as_numbers(call.arguments)
    if found is None or len(found) != count:
        text = f"`{ast.unparse(call.node)}` takes {count} number{'s' * (count > 1)}"
        raise Unsupported(call.node, text)
    return found


def of_bits(
    context: Context, call: Call, compute: Callable, dtype: np.dtype | None = None
) -> Number:
    """A function of the bits of one number. dtype: of the result; None: that of the number."""
    (value,) = numbers(call, 1)
    return as_result(compute(value), dtype or value.dtype, np.ndim(value) == 0)


def fma(context: Context, call: Call) -> Number:
    """a * b + c, rounded once."""
    values = numbers(call, 3)
    a, b, c = (convert(value, FLOAT64) for value in values)
    return convert(a * b + c, common_dtype([value.dtype for value in values]))


def cbrt(context: Context, call: Call) -> Number:
    (value,) = numbers(call, 1)
    return np.cbrt(value)


def selp(context: Context, call: Call) -> Number:
    """The second argument where the first is true, else the third."""
    condition, yes, no = numbers(call, 3)
    dtype = common_dtype([yes.dtype, no.dtype])
    return np.where(truth(condition), convert(yes, dtype), convert(no, dtype))


# ---------------------------------------------------------------- vector types


@cache
def vector_type(name: str) -> VectorType:
    return VectorType(VECTORS[name])


def make_vector(name: str, call: Call) -> Vector:
    """cuda.float32x4(a, b, c, d), of numbers and of shorter vectors."""
    kind = vector_type(VECTORS[name])
    values: list[Number] = []
    for argument in call.arguments:
        number = as_number(argument)
        if isinstance(argument, Vector):
            values += argument.values
        elif number is not None:
            values.append(number)
    if len(values) != len(kind.fields):
        raise Unsupported(call.node, f"cuda.{name} takes {len(kind.fields)} numbers")
    return Vector(kind, tuple(convert(value, kind.dtype) for value in values))


# ---------------------------------------------------------------- half precision

HALF = np.dtype(np.float16)


def differ(a: Number, b: Number) -> Number:
    """False where one of the two is no number, as on a GPU."""
    return (a < b) | (a > b)


# Computed in single precision, and rounded once.
ON_HALVES: dict[str, Callable[..., Any]] = {
    "habs": np.abs, "hadd": np.add, "hceil": np.ceil, "hcos": np.cos, "hdiv": np.divide,
    "heq": np.equal, "hexp": np.exp, "hexp10": lambda x: np.power(np.float32(10), x),
    "hexp2": np.exp2, "hfloor": np.floor, "hge": np.greater_equal, "hgt": np.greater,
    "hle": np.less_equal, "hlog": np.log, "hlog10": np.log10, "hlog2": np.log2, "hlt": np.less,
    "hmax": maximum, "hmin": minimum, "hmul": np.multiply, "hne": differ, "hneg": np.negative,
    "hrcp": np.reciprocal, "hrint": np.rint, "hrsqrt": lambda x: 1 / np.sqrt(x), "hsin": np.sin,
    "hsqrt": np.sqrt, "hsub": np.subtract, "htanh": np.tanh, "htrunc": np.trunc,
}  # fmt: skip


def call_half(name: str, call: Call) -> Number:
    """cuda.fp16.hadd(a, b) and its like: float16, or a condition."""
    found = numbers(call, len(call.arguments))
    if name == "hfma":
        a, b, c = (convert(convert(value, HALF), FLOAT64) for value in found)
        return convert(a * b + c, HALF)
    values = [convert(convert(value, HALF), FLOAT32) for value in found]
    try:
        result = np.asarray(ON_HALVES[name](*values))[()]
    except (TypeError, ValueError):
        raise wrong_count(call) from None
    return result if result.dtype == np.bool_ else convert(result, HALF)


def wrong_count(call: Call) -> Unsupported:
    text = f"`{ast.unparse(call.node)}` has too few or too many numbers"
    return Unsupported(call.node, text)


def call_bfloat16(name: str, call: Call) -> object:
    """A function of numba.cuda.bf16."""
    node, arguments = call.node, call.arguments
    if name in MISTAKEN and any(map(is_whole_literal, node.args)):
        wrong = "Numba passes a whole number that is written here with the wrong bits, often as 0"
        raise NotSimulated(node, f"`{ast.unparse(node)}`: {wrong}: write bfloat16(...)")
    values = [value if isinstance(value, BFloat16) else as_number(value) for value in arguments]
    if any(value is None for value in values):
        raise Unsupported(node, f"`{ast.unparse(node)}` takes numbers")
    try:
        return ON_BFLOAT16[name](*values)
    except TypeError:
        raise wrong_count(call) from None


# Functions that take numbers in bfloat16: numba-cuda's conversion of 3, not of 3.0, takes the lower
# half of a float32's bits for the upper one.
MISTAKEN = frozenset(name for name in ON_BFLOAT16 if name[0] == "h" or name.startswith("bfloat16_"))


def is_whole_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def call_device_library(name: str, call: Call) -> object:
    try:
        return call_libdevice(name, numbers(call, len(call.arguments)))
    except InputError as error:
        raise Unsupported(call.node, str(error)) from None


# ---------------------------------------------------------------- hints for the cache


def load_with_hint(context: Context, call: Call) -> object:
    """cuda.ldcg(array, index) and its like. A hint changes the speed, not the value."""
    array, index = call.arguments if len(call.arguments) == 2 else (None, None)
    if not isinstance(array, ArrayView):
        text = f"`{ast.unparse(call.node.func)}` takes an array and an index"
        raise Unsupported(call.node, text)
    return context.memory.load(array, indices_of(call.node, index), call.mask, call.node)


def store_with_hint(context: Context, call: Call) -> None:
    """cuda.stcg(array, index, value) and its like."""
    array, index, value = call.arguments if len(call.arguments) == 3 else (None, None, None)
    if not isinstance(array, ArrayView) or not is_number(value):
        text = f"`{ast.unparse(call.node.func)}` takes an array, an index and a number"
        raise Unsupported(call.node, text)
    context.memory.store(array, indices_of(call.node, index), value, call.mask, call.node)
