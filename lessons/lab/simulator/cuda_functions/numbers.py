"""Functions of numbers: bits, vector types, half precision, bfloat16, `libdevice`."""

import ast
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...bfloat16 import FUNCTIONS as ON_BFLOAT16
from ...bfloat16 import BFloat16, maximum, minimum
from ...errors import InputError
from ...libdevice import call_libdevice
from ...names import VECTORS
from ...numba_types import FLOAT32, FLOAT64, Number, common_dtype, convert, is_number, truth
from ..context import Context
from ..memory.arrays import ArrayView
from ..stops import NotSimulated, Unsupported
from ..teams import Mask
from ..values import Vector, VectorType, as_number
from .arguments import numbers
from .arrays import indices_of


def popc(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """How many bits are set."""
    (value,) = numbers(node, arguments, 1)
    return shaped(bit_table(value).sum(axis=1).astype(np.int32), value)


def brev(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """The bits in reverse order."""
    (value,) = numbers(node, arguments, 1)
    bits = bit_table(value)[:, ::-1]
    total = (bits << np.arange(bits.shape[1], dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    return shaped(total.astype(value.dtype), value)


def clz(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """How many bits before the highest that is set."""
    (value,) = numbers(node, arguments, 1)
    bits = bit_table(value)[:, ::-1] != 0
    leading = np.where(bits.any(axis=1), bits.argmax(axis=1), bits.shape[1])
    return shaped(leading.astype(np.int32), value)


def ffs(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """Number of the lowest bit that is set, from 1; 0 if none is."""
    (value,) = numbers(node, arguments, 1)
    bits = bit_table(value) != 0
    first = np.where(bits.any(axis=1), bits.argmax(axis=1) + 1, 0)
    return shaped(first.astype(np.int32), value)


def bit_table(value: Number) -> np.ndarray:
    """(n, bits) uint64 of 0 and 1, the lowest bit first."""
    width = value.dtype.itemsize * 8
    unsigned = value.astype(value.dtype.str.replace("i", "u")).astype(np.uint64)
    return (np.atleast_1d(unsigned)[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)


def shaped(vector: np.ndarray, like: Number) -> Number:
    return vector if np.ndim(like) else vector[0]


def fma(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """a * b + c, rounded once."""
    values = numbers(node, arguments, 3)
    a, b, c = (convert(value, FLOAT64) for value in values)
    return convert(a * b + c, common_dtype([value.dtype for value in values]))


def cbrt(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    (value,) = numbers(node, arguments, 1)
    return np.cbrt(value)


def selp(context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask) -> Number:
    """The second argument where the first is true, else the third."""
    condition, yes, no = numbers(node, arguments, 3)
    dtype = common_dtype([yes.dtype, no.dtype])
    return np.where(truth(condition), convert(yes, dtype), convert(no, dtype))


# ---------------------------------------------------------------- vector types


@cache
def vector_type(name: str) -> VectorType:
    return VectorType(VECTORS[name])


def make_vector(name: str, node: ast.Call, arguments: Sequence[object]) -> Vector:
    """cuda.float32x4(a, b, c, d), of numbers and of shorter vectors."""
    kind = vector_type(VECTORS[name])
    values: list[Number] = []
    for argument in arguments:
        number = as_number(argument)
        if isinstance(argument, Vector):
            values += argument.values
        elif number is not None:
            values.append(number)
    if len(values) != len(kind.fields):
        raise Unsupported(node, f"cuda.{name} takes {len(kind.fields)} numbers")
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


def call_half(name: str, node: ast.Call, arguments: Sequence[object]) -> Number:
    """cuda.fp16.hadd(a, b) and its like: float16, or a condition."""
    found = numbers(node, arguments, len(arguments))
    if name == "hfma":
        a, b, c = (convert(convert(value, HALF), FLOAT64) for value in found)
        return convert(a * b + c, HALF)
    values = [convert(convert(value, HALF), FLOAT32) for value in found]
    try:
        result = np.asarray(ON_HALVES[name](*values))[()]
    except (TypeError, ValueError):
        raise Unsupported(node, f"`{ast.unparse(node)}` has too few or too many numbers") from None
    return result if result.dtype == np.bool_ else convert(result, HALF)


def call_bfloat16(name: str, node: ast.Call, arguments: Sequence[object]) -> object:
    """A function of numba.cuda.bf16."""
    if name in MISTAKEN and any(map(is_whole_literal, node.args)):
        wrong = "Numba passes a whole number that is written here with the wrong bits, often as 0"
        raise NotSimulated(node, f"`{ast.unparse(node)}`: {wrong}: write bfloat16(...)")
    values = [value if isinstance(value, BFloat16) else as_number(value) for value in arguments]
    if any(value is None for value in values):
        raise Unsupported(node, f"`{ast.unparse(node)}` takes numbers")
    try:
        return ON_BFLOAT16[name](*values)
    except TypeError:
        raise Unsupported(node, f"`{ast.unparse(node)}` has too few or too many numbers") from None


# Functions that take numbers in bfloat16: numba-cuda's conversion of 3, not of 3.0, takes the lower
# half of a float32's bits for the upper one.
MISTAKEN = frozenset(name for name in ON_BFLOAT16 if name[0] == "h" or name.startswith("bfloat16_"))


def is_whole_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def call_device_library(name: str, node: ast.Call, arguments: Sequence[object]) -> object:
    try:
        return call_libdevice(name, numbers(node, arguments, len(arguments)))
    except InputError as error:
        raise Unsupported(node, str(error)) from None


# ---------------------------------------------------------------- hints for the cache


def load_with_hint(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> object:
    """cuda.ldcg(array, index) and its like. A hint changes the speed, not the value."""
    array, index = arguments if len(arguments) == 2 else (None, None)
    if not isinstance(array, ArrayView):
        raise Unsupported(node, f"`{ast.unparse(node.func)}` takes an array and an index")
    return context.memory.load(array, indices_of(node, index), mask, node)


def store_with_hint(
    context: Context, node: ast.Call, arguments: Sequence[object], mask: Mask
) -> None:
    """cuda.stcg(array, index, value) and its like."""
    array, index, value = arguments if len(arguments) == 3 else (None, None, None)
    if not isinstance(array, ArrayView) or not is_number(value):
        raise Unsupported(node, f"`{ast.unparse(node.func)}` takes an array, an index and a number")
    context.memory.store(array, indices_of(node, index), value, mask, node)
