"""The functions of `numba.cuda.libdevice`, on many threads at once.

Numba says which types each takes and returns (`numba.cuda.libdevicefuncs`). Here is what they
compute, in NumPy. A name that ends in f works in single precision. A last part such as `_rd` names
a direction of rounding: down, to nearest, up, toward zero; arithmetic is rounded to nearest here.
"""

import functools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numba.np.numpy_support import as_dtype

from .errors import InputError
from .numba_types import Number, convert, gamma, on_each

ROUNDING: dict[str, Callable] = {
    "_rd": np.floor, "_rn": np.rint, "_ru": np.ceil, "_rz": np.trunc,
}  # fmt: skip


def normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def inverse_erf(y: float) -> float:
    """By Newton's method from Winitzki's approximation."""
    if abs(y) >= 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    if y == 0:
        return y
    log = math.log((1 - y) * (1 + y))
    first = 2 / (math.pi * 0.147) + log / 2
    x = math.copysign(math.sqrt(math.sqrt(first * first - log / 0.147) - first), y)
    for _ in range(4):
        x -= (math.erf(x) - y) * math.sqrt(math.pi) / 2 * math.exp(x * x)
    return x


def inverse_erfc(y: float) -> float:
    """By Newton's method on the logarithm, which also reaches far into the tail."""
    if y <= 0 or y >= 2:
        return {0.0: math.inf, 2.0: -math.inf}.get(y, math.nan)
    if y > 0.1:
        return inverse_erf(1 - y)
    x = math.sqrt(-math.log(y * math.sqrt(math.pi)))
    for _ in range(60):
        value = math.erfc(x)
        slope = -2 / math.sqrt(math.pi) * math.exp(-x * x) / value
        x -= (math.log(value) - math.log(y)) / slope
    return x


def scaled_erfc(x: float) -> float:
    """exp(x²) erfc(x); for large x by its continued fraction."""
    if x < 20:
        return math.exp(x * x) * math.erfc(x)
    tail = x
    for k in range(20, 0, -1):
        tail = x + k / 2 / tail
    return 1 / (math.sqrt(math.pi) * tail)


def round_half_away(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def high_product(bits: int) -> Callable:
    """The upper half of a product of whole numbers."""
    return np.vectorize(lambda x, y: int(x) * int(y) >> bits, otypes=[object])


def product_of_24(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    low = np.int64(1) << np.int64(23)
    a, b = ((v.astype(np.int64) + low) % (2 * low) - low for v in (x, y))
    return a * b


def unsigned_product_of_24(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    mask = np.int64(0xFFFFFF)
    return (x.astype(np.int64) & mask) * (y.astype(np.int64) & mask)


def unsigned(function: Callable) -> Callable:
    """A function of whole numbers that are not negative, though their types have a sign."""

    def call(*arguments: np.ndarray) -> np.ndarray:
        return function(*(a.astype(a.dtype.str.replace("i", "u")) for a in arguments))

    return call


def bits_of(value: np.ndarray) -> np.ndarray:
    """(n, width) bool, the lowest bit first."""
    width = value.dtype.itemsize * 8
    plain = np.atleast_1d(value).astype(value.dtype.str.replace("i", "u")).astype(np.uint64)
    return (plain[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1) != 0


def count_leading(value: np.ndarray) -> np.ndarray:
    bits = bits_of(value)[:, ::-1]
    return np.where(bits.any(axis=1), bits.argmax(axis=1), bits.shape[1])


def find_first(value: np.ndarray) -> np.ndarray:
    bits = bits_of(value)
    return np.where(bits.any(axis=1), bits.argmax(axis=1) + 1, 0)


def reverse_bits(value: np.ndarray) -> np.ndarray:
    bits = bits_of(value)[:, ::-1]
    total = (bits.astype(np.uint64) << np.arange(bits.shape[1], dtype=np.uint64)).sum(axis=1)
    return total.astype(value.dtype.str.replace("i", "u")).view(value.dtype)


def permute_bytes(x: np.ndarray, y: np.ndarray, selector: np.ndarray) -> np.ndarray:
    both = (y.astype(np.int64) & 0xFFFFFFFF) << np.int64(32) | (x.astype(np.int64) & 0xFFFFFFFF)
    result = np.zeros(np.broadcast(x, y, selector).shape, np.int64)
    for k in range(4):
        place = (selector.astype(np.int64) >> np.int64(4 * k)) & 7
        result |= ((both >> 8 * place) & 0xFF) << np.int64(8 * k)
    return result


def remquo(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    quotient = np.rint(x / y)
    return x - quotient * y, np.where(np.isfinite(quotient), quotient, 0).astype(np.int32)


def sad(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.abs(x.astype(np.int64) - y.astype(np.int64)) + z


def bits_as(dtype: type) -> Callable:
    """The bits of a number as a number of another type."""
    return lambda x: np.asarray(x).view(dtype)


def high_and_low(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    whole = high.astype(np.int64) << np.int64(32) | (low.astype(np.int64) & 0xFFFFFFFF)
    return np.asarray(whole).view(np.float64)


def half_to_float(x: np.ndarray) -> np.ndarray:
    return np.asarray(x).astype(np.int16).view(np.float16)


def float_to_half(x: np.ndarray) -> np.ndarray:
    return np.asarray(x).astype(np.float16).view(np.int16)


def fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Rounded once where double precision holds the product, else twice."""
    return (x.astype(np.float64) * y + z).astype(np.result_type(x, y, z))


def sincos(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sin(x), np.cos(x)


def sincospi(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sin(np.pi * x), np.cos(np.pi * x)


def half_of_sum(x: np.ndarray, y: np.ndarray, up: int = 0) -> np.ndarray:
    return x.astype(np.int64) + y + up >> np.int64(1)


def logb(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.frexp(x)[1] - 1.0))


ONE_NAME: dict[str, Callable] = {
    "abs": np.abs, "llabs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh,
    "brev": reverse_bits, "brevll": reverse_bits, "byte_perm": permute_bytes, "cbrt": np.cbrt,
    "ceil": np.ceil, "clz": count_leading, "clzll": count_leading, "copysign": np.copysign,
    "cos": np.cos, "cosh": np.cosh, "cospi": lambda x: np.cos(np.pi * x),
    "dadd": np.add, "ddiv": np.divide, "dmul": np.multiply, "drcp": np.reciprocal,
    "dsqrt": np.sqrt, "double2hiint": lambda x: np.asarray(x).view(np.int64) >> np.int64(32),
    "double2loint": lambda x: (np.asarray(x).view(np.int64) & 0xFFFFFFFF).astype(np.uint32),
    "double_as_longlong": bits_as(np.int64), "erf": on_each(math.erf), "erfc": on_each(math.erfc),
    "erfcinv": on_each(inverse_erfc), "erfcx": on_each(scaled_erfc),
    "erfinv": on_each(inverse_erf), "exp": np.exp, "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2, "expm1": np.expm1, "fabs": np.fabs, "fadd": np.add, "fdim":
    lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x) | np.isnan(y), np.nan, 0)),
    "fdiv": np.divide, "fast_fdivide": np.divide, "ffs": find_first, "ffsll": find_first,
    "finite": np.isfinite, "isfinite": np.isfinite, "float2half": float_to_half,
    "float_as_int": bits_as(np.int32), "floor": np.floor, "fma": fma, "fmax": np.fmax,
    "fmin": np.fmin, "fmod": np.fmod, "fmul": np.multiply, "frcp": np.reciprocal, "frexp": np.frexp,
    "frsqrt": lambda x: 1 / np.sqrt(x), "fsqrt": np.sqrt, "fsub": np.subtract,
    "hadd": half_of_sum, "uhadd": unsigned(half_of_sum), "rhadd": partial(half_of_sum, up=1),
    "urhadd": unsigned(partial(half_of_sum, up=1)), "half2float": half_to_float,
    "hiloint2double": high_and_low, "hypot": np.hypot,
    "ilogb": lambda x: np.frexp(x)[1] - 1, "int_as_float": bits_as(np.float32),
    "isinf": np.isinf, "isnan": np.isnan, "ldexp": np.ldexp, "scalbn": np.ldexp,
    "lgamma": on_each(math.lgamma, math.inf), "llmax": np.maximum, "llmin": np.minimum,
    "llrint": np.rint, "llround": round_half_away, "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "logb": logb, "longlong_as_double": bits_as(np.float64),
    "max": np.maximum, "min": np.minimum, "modf": np.modf, "mul24": product_of_24,
    "mul64hi": high_product(64), "mulhi": high_product(32), "nearbyint": np.rint,
    "nextafter": np.nextafter, "normcdf": on_each(normal_cdf),
    "normcdfinv": on_each(lambda p: -math.sqrt(2) * inverse_erfc(2 * p)),
    "popc": lambda x: bits_of(x).sum(axis=1), "popcll": lambda x: bits_of(x).sum(axis=1),
    "pow": np.power, "powi": np.power, "rcbrt": lambda x: 1 / np.cbrt(x),
    "remainder": on_each(math.remainder), "remquo": remquo, "rint": np.rint,
    "round": round_half_away, "rsqrt": lambda x: 1 / np.sqrt(x), "sad": sad,
    "saturate": lambda x: np.where(np.isnan(x), 0, np.clip(x, 0, 1)), "signbit": np.signbit,
    "sin": np.sin, "sincos": sincos, "sincospi": sincospi, "sinh": np.sinh,
    "sinpi": lambda x: np.sin(np.pi * x), "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "tgamma": gamma, "trunc": np.trunc, "ullmax": unsigned(np.maximum),
    "ullmin": unsigned(np.minimum), "umax": unsigned(np.maximum), "umin": unsigned(np.minimum),
    "umul24": unsigned_product_of_24, "umul64hi": unsigned(high_product(64)),
    "umulhi": unsigned(high_product(32)), "usad": unsigned(sad),
}  # fmt: skip
CONVERSIONS = ("double2", "float2", "int2", "uint2", "ll2", "ull2")


@functools.cache
def implementation(name: str) -> Callable | None:
    """What the function of this name computes; None for one that nobody has written here."""
    base, rounding = name, None
    if name[-3:] in ROUNDING:
        base, rounding = name[:-3], ROUNDING[name[-3:]]
    if base in ONE_NAME:
        return ONE_NAME[base]
    if rounding is not None and base.startswith(CONVERSIONS):
        return converted(rounding)
    base = base.removeprefix("fast_")
    without_type = base[:-1] if base[-1] in "fd" else base
    return ONE_NAME.get(base) or ONE_NAME.get(without_type)


def converted(rounding: Callable) -> Callable:
    """A conversion; to a whole number it rounds in the named direction."""
    return lambda x: rounding(x) if x.dtype.kind == "f" else x


@functools.cache
def signatures() -> dict[str, tuple]:
    """name -> (types of the arguments, types of the results)."""
    try:
        from numba.cuda.libdevicefuncs import functions
    except ImportError:
        return {}
    found = {}
    for name, (result, arguments) in functions.items():
        given = [as_dtype(argument.ty) for argument in arguments if not argument.is_ptr]
        back = [as_dtype(argument.ty) for argument in arguments if argument.is_ptr]
        own = [] if str(result) in ("none", "void") else [as_dtype(result)]
        found[name.removeprefix("__nv_")] = given, own + back
    return found


def names_of_libdevice() -> list[str]:
    """The functions that can be computed here."""
    return [name for name in signatures() if implementation(name) is not None]


def call_libdevice(name: str, arguments: Sequence[Number]) -> object:
    """libdevice.<name>(...): a number, or a tuple of them. Raises `InputError`."""
    given, results = signatures()[name]
    if len(arguments) != len(given):
        raise InputError(f"libdevice.{name} takes {len(given)} numbers")
    values = [convert(value, dtype) for value, dtype in zip(arguments, given, strict=True)]
    function = implementation(name)
    assert function is not None
    found = function(*values)
    parts = found if isinstance(found, tuple) else (found,)
    scalar = all(np.ndim(value) == 0 for value in values)
    numbers = [as_result(part, dtype, scalar) for part, dtype in zip(parts, results, strict=True)]
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def as_result(value: object, dtype: np.dtype, scalar: bool) -> Number:
    """A result with the type that it has on a GPU; whole numbers keep their lowest bits."""
    array = np.asarray(value)
    if array.dtype == object:
        mask = (1 << 8 * dtype.itemsize) - 1
        array = np.vectorize(lambda number: number & mask, otypes=[np.uint64])(array)
    result = np.atleast_1d(array).astype(dtype)
    return result[0] if scalar else result
