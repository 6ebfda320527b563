"""`cuda.libdevice` for compiled code: the common functions by Numba's `math`, others by NumPy."""

import ctypes
import functools
import math
from collections.abc import Callable

import numpy as np
from numba.np.numpy_support import from_dtype

from ..libdevice import call_libdevice, signatures

# Without the f at the end of those in single precision.
BY_MATH: dict[str, Callable] = {
    "acos": math.acos, "acosh": math.acosh, "asin": math.asin, "asinh": math.asinh,
    "atan": math.atan, "atan2": math.atan2, "atanh": math.atanh, "ceil": math.ceil,
    "copysign": math.copysign, "cos": math.cos, "cosh": math.cosh, "exp": math.exp,
    "expm1": math.expm1, "fabs": math.fabs, "floor": math.floor, "hypot": math.hypot,
    "log": math.log, "log10": math.log10, "log1p": math.log1p, "pow": math.pow, "sin": math.sin,
    "sinh": math.sinh, "sqrt": math.sqrt, "tan": math.tan, "tanh": math.tanh,
}  # fmt: skip


def by_math(name: str) -> Callable | None:
    """The function of `math` that libdevice's function of this name is; None if there is none."""
    name = name.removeprefix("fast_")
    return BY_MATH.get(name) or BY_MATH.get(name.removesuffix("f"))


def types_of(name: str) -> tuple[list, list]:
    """Numba types of the arguments, and of the results."""
    given, results = signatures()[name]
    return [from_dtype(dtype) for dtype in given], [from_dtype(dtype) for dtype in results]


@functools.cache
def by_numpy(name: str, number: int) -> Callable:
    """A C function that returns one of the results of libdevice's function of this name."""
    given, results = signatures()[name]

    def call(*values: float) -> float:
        numbers = [dtype.type(value) for dtype, value in zip(given, values, strict=True)]
        with np.errstate(all="ignore"):
            found = call_libdevice(name, numbers)
        one = found[number] if isinstance(found, tuple) else found
        return np.asarray(one, results[number]).item()

    kinds = [np.ctypeslib.as_ctypes_type(dtype) for dtype in (results[number], *given)]
    return ctypes.CFUNCTYPE(*kinds)(call)
