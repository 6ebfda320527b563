"""Functions of `math` and `cmath`, on many threads at once, with the types of Numba."""

import cmath
import math
from collections.abc import Callable, Sequence

import numpy as np

from .numba_types import FLOAT32, FLOAT64, MATH, Number, call_math, convert, gamma, on_each


def floating(value: Number) -> Number:
    """Whole numbers as doubles, as Numba passes them to a function of mathematics."""
    return convert(value, FLOAT64) if value.dtype.kind in "iub" else value


def ldexp(x: Number, exponent: Number) -> Number:
    return np.ldexp(floating(x), exponent.astype(np.int32))


def gcd(x: Number, y: Number) -> Number:
    dtype = np.promote_types(x.dtype, y.dtype)
    return np.gcd(convert(x, dtype), convert(y, dtype))


def as_common_float(function: Callable[..., Number]) -> Callable[..., Number]:
    """All arguments in the widest of their types, single or double."""

    def call(*arguments: Number) -> Number:
        values = [floating(argument) for argument in arguments]
        dtype = np.result_type(*values)
        result = function(*(convert(value, dtype) for value in values))
        return convert(np.asarray(result)[()], dtype)

    return call


def log(x: Number, base: Number | None = None) -> Number:
    if base is None:
        return call_math(math.log, [x])
    return call_math(math.log, [x]) / call_math(math.log, [base])


# What `math` can do beyond the functions that Numba's type inference is asked about.
MORE: dict[Callable, Callable[..., object]] = {
    math.frexp: lambda x: np.frexp(floating(x)), math.modf: lambda x: np.modf(floating(x)),
    math.ldexp: ldexp, math.gcd: gcd, math.log: log, math.fmod: as_common_float(np.fmod),
    math.lgamma: as_common_float(on_each(math.lgamma, math.inf)),
    math.gamma: as_common_float(gamma), math.remainder: as_common_float(on_each(math.remainder)),
}  # fmt: skip
if hasattr(math, "nextafter"):
    MORE[math.nextafter] = as_common_float(np.nextafter)
if hasattr(math, "exp2"):  # since Python 3.11
    MORE[math.exp2] = as_common_float(np.exp2)

COMPLEX: dict[Callable, Callable[..., Number]] = {
    cmath.acos: np.arccos, cmath.acosh: np.arccosh, cmath.asin: np.arcsin,
    cmath.asinh: np.arcsinh, cmath.atan: np.arctan, cmath.atanh: np.arctanh, cmath.cos: np.cos,
    cmath.cosh: np.cosh, cmath.exp: np.exp, cmath.log10: np.log10, cmath.sin: np.sin,
    cmath.sinh: np.sinh, cmath.sqrt: np.sqrt, cmath.tan: np.tan, cmath.tanh: np.tanh,
    cmath.isfinite: np.isfinite, cmath.isinf: np.isinf, cmath.isnan: np.isnan,
    cmath.phase: np.angle,
}  # fmt: skip


def complexed(value: Number) -> Number:
    """A number as a complex one, of the same precision."""
    if value.dtype.kind == "c":
        return value
    return value.astype(np.complex64 if value.dtype == FLOAT32 else np.complex128)


def polar(z: Number) -> tuple[Number, Number]:
    value = complexed(z)
    return np.abs(value), np.angle(value)


def complex_of(real: Number, imaginary: Number) -> Number:
    """Of its two parts; unlike `real + 1j * imaginary`, it keeps the sign of a zero."""
    x, y = floating(real), floating(imaginary)
    if "c" in (x.dtype.kind, y.dtype.kind):
        return x + y * complex(0, 1)
    result = np.empty(np.broadcast(x, y).shape, np.result_type(x, y, np.complex64))
    result.real, result.imag = x, y
    return result[()]


def rect(radius: Number, angle: Number) -> Number:
    r, phi = floating(radius), floating(angle)
    nowhere = ~np.isfinite(phi) & (r == 0)  # a point, whatever the angle
    x = np.where(nowhere, np.abs(r), r * np.cos(phi))
    y = np.where(nowhere, np.abs(r), r * np.sin(phi))
    dtype = np.result_type(r, phi)
    return complex_of(convert(x[()], dtype), convert(y[()], dtype))


def complex_log(z: Number, base: Number | None = None) -> Number:
    result = np.log(complexed(z))
    return result if base is None else result / np.log(complexed(base))


MORE |= {cmath.polar: polar, cmath.rect: rect, cmath.log: complex_log}


def is_math(function: object) -> bool:
    """Whether a function of `math` or `cmath`, or `abs`, can be computed here."""
    try:
        return function in MORE or function in MATH or function in COMPLEX
    except TypeError:  # a function that cannot be hashed
        return False


def call_any_math(function: Callable, arguments: Sequence[Number]) -> object:
    """Apply it. Raises `TypeProblem` for arguments that Numba has no types for."""
    if function in MORE:
        return as_value(MORE[function](*arguments))
    if function in COMPLEX:
        return as_value(COMPLEX[function](*map(complexed, arguments)))
    return call_math(function, arguments)


def as_value(value: object) -> object:
    """A scalar of NumPy for one number; a tuple of values for several."""
    if isinstance(value, tuple):
        return tuple(map(as_value, value))
    return np.asarray(value)[()]
