"""Numbers of `cuda.bf16`, which NumPy does not have, and the functions on them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from .numba_types import FLOAT64, INT32, Number, convert, extreme


class BFloat16:
    """Numbers in bfloat16, the same in all threads or one per thread. number: float32, exact."""

    def __init__(self, number: Number) -> None:
        self.number = number


ROUNDINGS: dict[str, np.ufunc] = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
SIGNIFICANT_BITS = 8
SMALLEST_EXPONENT = -125  # of a normal number, as `frexp` counts
TOO_LARGE = 2.0**128
LARGEST = 2.0**128 - 2.0**120
NAN = np.array(0x7FFF0000, np.uint32).view(np.float32)[()]  # the one that arithmetic makes
CUT_BITS = 11  # of a whole number of 64 bits, to leave as many as a double has


def is_bfloat16(dtype: np.dtype) -> bool:
    """Whether it is that of the package ml_dtypes, which arrays of bfloat16 can have."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def scalar_of_ml_dtypes(value: object) -> BFloat16 | None:
    """A single number of that package; None for all other values."""
    if isinstance(value, np.generic) and is_bfloat16(value.dtype):
        return BFloat16(value.astype(np.float32))
    return None


def rounded(value: Number, rounding: str = "rn") -> BFloat16:
    """The nearest bfloat16, of two the even one; or the next one in another direction."""
    exact, direction = as_double(value), ROUNDINGS[rounding]
    _, exponent = np.frexp(exact)
    last_bit = np.maximum(exponent, SMALLEST_EXPONENT) - SIGNIFICANT_BITS
    result = np.ldexp(direction(np.ldexp(exact, -last_bit)), last_bit)
    away_from_zero = direction(np.copysign(0.75, exact)) != 0
    beyond = np.copysign(np.where(away_from_zero, np.inf, LARGEST), exact)
    overflows = np.isfinite(exact) & (np.abs(result) >= TOO_LARGE)
    result = np.where(overflows, beyond, result).astype(np.float32)
    return BFloat16(np.where(np.isnan(exact), NAN, result)[()])


def as_double(value: Number) -> Number:
    """A number in double precision; a large whole one is cut off so that it still rounds right."""
    if value.dtype.kind in "iu" and value.dtype.itemsize == 8:
        cut = np.left_shift(np.right_shift(value, CUT_BITS), CUT_BITS)
        odd = cut | np.where(cut != value, 1 << CUT_BITS, 0).astype(value.dtype)
        value = np.where(np.abs(value.astype(FLOAT64)) < 2.0**53, value, odd)[()]
    return convert(value, FLOAT64)


def of_bits(bits: Number) -> BFloat16:
    words = np.asarray(bits).view(np.uint16).astype(np.uint32) << 16
    return BFloat16(words.view(np.float32)[()])


# ---------------------------------------------------------------- functions

# What they do at their edges is told in cuda_bf16.h, which comes with CUDA.


Value: TypeAlias = BFloat16 | Number


def implicit(value: Value) -> BFloat16:
    """As Numba passes it where a bfloat16 is expected."""
    return value if isinstance(value, BFloat16) else rounded(value)


def number_of(value: Value) -> Number:
    return value.number if isinstance(value, BFloat16) else value


# ---------------------------------------------------------------- arithmetic, in doubles


def add_to_odd(x: Number, y: Number) -> Number:
    """x + y; if that is inexact, the double next to the sum whose last bit is 1.

    Rounded again to fewer bits, it gives what rounding once would give.
    """
    total = np.asarray(x + y)
    part = total - x
    rest = (x - (total - part)) + (y - part)
    is_odd = total.view(np.int64) & 1 != 0
    exact = is_odd | (rest == 0) | ~np.isfinite(rest)
    return np.where(exact, total, np.nextafter(total, np.copysign(np.inf, rest)))[()]


def fused(a: Number, b: Number, c: Number) -> Number:
    """a * b + c of doubles whose product is exact."""
    return add_to_odd(a * b, c)


def maximum(a: Number, b: Number) -> Number:
    """The larger number, 0 rather than -0; if only one is a number, that one."""
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))[()]


def minimum(a: Number, b: Number) -> Number:
    """The smaller number, -0 rather than 0; if only one is a number, that one."""
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))[()]


def with_nan(function: Callable[..., Number]) -> Callable[..., Number]:
    """What is no number stays so."""
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, function(a, b))[()]


def saturated(function: Callable[..., Any]) -> Callable[..., Number]:
    """Limited to [0, 1]; what is no number becomes 0."""
    zero, one = np.float64(0), np.float64(1)
    return lambda *values: minimum(maximum(function(*values), zero), one)


def fused_relu(a: Number, b: Number, c: Number) -> Number:
    return with_nan(maximum)(fused(a, b, c), np.float64(0))


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.divide, "hfma": fused,
    "hadd_rn": np.add, "hsub_rn": np.subtract, "hmul_rn": np.multiply,
    "hadd_sat": saturated(np.add), "hsub_sat": saturated(np.subtract),
    "hmul_sat": saturated(np.multiply), "hfma_sat": saturated(fused), "hfma_relu": fused_relu,
    "hmax": maximum, "hmin": minimum, "hmax_nan": with_nan(maximum), "hmin_nan": with_nan(minimum),
    "habs": np.abs, "hneg": np.negative,
    "htrunc": np.trunc, "hceil": np.ceil, "hfloor": np.floor, "hrint": np.rint,
    "hsqrt": np.sqrt, "hrsqrt": lambda x: 1 / np.sqrt(x), "hrcp": np.reciprocal,
    "hlog": np.log, "hlog2": np.log2, "hlog10": np.log10, "hcos": np.cos, "hsin": np.sin,
    "hexp": np.exp, "hexp2": np.exp2, "hexp10": partial(np.power, 10.0),
    "htanh": np.tanh, "htanh_approx": np.tanh,
}  # fmt: skip
COMPARISONS: dict[str, np.ufunc] = {
    "heq": np.equal, "hne": np.not_equal, "hge": np.greater_equal, "hgt": np.greater,
    "hle": np.less_equal, "hlt": np.less,
}  # fmt: skip


def arithmetic(function: Callable[..., Any], *values: Value) -> BFloat16:
    exact = function(*(as_double(implicit(value).number) for value in values))
    return rounded(np.asarray(exact)[()])


def comparison(function: np.ufunc, with_nan: bool, first: Value, second: Value) -> Number:
    """with_nan: the result where one of the two is no number."""
    a, b = implicit(first).number, implicit(second).number
    unordered = np.isnan(a) | np.isnan(b)
    return np.where(unordered, with_nan, function(a, b))[()]


def is_nan(value: Value) -> Number:
    return np.isnan(implicit(value).number)


def sign_of_infinity(value: Value) -> Number:
    number = implicit(value).number
    return np.where(np.isinf(number), np.copysign(1, number), 0).astype(INT32)[()]


# ---------------------------------------------------------------- conversions


def from_number(dtype: np.dtype, rounding: str, value: Value) -> BFloat16:
    return rounded(convert(number_of(value), dtype), rounding)


def to_number(dtype: np.dtype, rounding: str, value: Value) -> Number:
    """The whole number, or the last one of the type in its direction."""
    whole = ROUNDINGS[rounding](as_double(implicit(value).number))
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    limit = float(highest) + 1  # a power of two
    inside = np.where((whole >= lowest) & (whole < limit), whole, 0).astype(dtype)
    of_nan = np.uint64(1 << 63 if dtype.itemsize == 8 else 0)
    cases = [whole >= limit, whole < lowest, np.isnan(whole)]
    results = [dtype.type(highest), dtype.type(lowest), of_nan.astype(dtype)]
    return np.select(cases, results, inside)[()]


def to_float32(value: Value) -> Number:
    return implicit(value).number


def to_bits(dtype: np.dtype, value: Value) -> Number:
    """Its 16 bits. dtype: int16 or uint16."""
    words = np.asarray(implicit(value).number).view(np.uint32) >> 16
    return words.astype(np.uint16).view(dtype)[()]


def from_bits(dtype: np.dtype, value: Value) -> BFloat16:
    return of_bits(convert(number_of(value), dtype))


# Types, and what CUDA C calls them.
REAL = {"float32": "float", "float64": "double"}
BYTES = {"int8": "char", "uint8": "uchar"}
WHOLE = {
    "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint", "int64": "ll",
    "uint64": "ull",
}  # fmt: skip


def conversions() -> dict[str, Callable[..., Value]]:
    """By their names in Numba, such as `int16_to_bfloat16_rn`, and in CUDA: `short2bfloat16_rn`."""
    found: dict[str, Callable[..., Value]] = {"bfloat16_to_float32": to_float32}
    found["bfloat162float"] = to_float32
    for kind, name in REAL.items():
        nearest = partial(from_number, np.dtype(kind), "rn")
        found[f"{kind}_to_bfloat16"] = found[f"{name}2bfloat16"] = nearest
    for mode in ROUNDINGS:
        for kind, name in {"float32": "float", **WHOLE}.items():
            given = partial(from_number, np.dtype(kind), mode)
            found[f"{kind}_to_bfloat16_{mode}"] = found[f"{name}2bfloat16_{mode}"] = given
        for kind, name in WHOLE.items() if mode != "rz" else (BYTES | WHOLE).items():
            made = partial(to_number, np.dtype(kind), mode)
            found[f"bfloat16_to_{kind}_{mode}"] = found[f"bfloat162{name}_{mode}"] = made
    for kind, name in {"int16": "short", "uint16": "ushort"}.items():
        made, given = partial(to_bits, np.dtype(kind)), partial(from_bits, np.dtype(kind))
        found[f"bfloat16_as_{kind}"] = found[f"bfloat16_as_{name}"] = made
        found[f"{kind}_as_bfloat16"] = found[f"{name}_as_bfloat16"] = given
    return found


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "bfloat16": implicit, "hisnan": is_nan, "hisinf": sign_of_infinity,
    **{name: partial(arithmetic, function) for name, function in ARITHMETIC.items()},
    **{name: partial(comparison, function, False) for name, function in COMPARISONS.items()},
    **{f"{name}u": partial(comparison, function, True) for name, function in COMPARISONS.items()},
    **conversions(),
}  # fmt: skip

# ---------------------------------------------------------------- operators and mathematics

OPERATORS = {
    "Add": "hadd", "Sub": "hsub", "Mult": "hmul", "Div": "hdiv", "USub": "hneg", "UAdd": "bfloat16",
}  # fmt: skip
MATH = frozenset(
    ["ceil", "cos", "exp", "exp2", "floor", "log", "log10", "sin", "sqrt", "tanh", "trunc"]
)


def operate(operation: str, *values: object) -> Value | None:
    """`a + b`, `-a` and their like, by the names of the syntax tree.

    None unless all values are bfloat16, and for the other operators: these are computed with
    numbers of type float32.
    """
    numbers = [value for value in values if isinstance(value, BFloat16)]
    if operation not in OPERATORS or len(numbers) < len(values):
        return None
    return FUNCTIONS[OPERATORS[operation]](*numbers)


def call_math(function: Callable, arguments: Sequence[object]) -> Value | None:
    """`math.sqrt(a)`, `max(a, b)` and their like; None for those that go on in float32."""
    numbers = [value for value in arguments if isinstance(value, BFloat16)]
    if not numbers or len(numbers) < len(arguments):
        return None
    if function in (min, max):
        return BFloat16(extreme(function, [value.number for value in numbers]))
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") != "math" or name not in MATH:
        return None
    return FUNCTIONS[f"h{name}"](*numbers)
