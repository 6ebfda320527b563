"""Vector types, and `cuda.libdevice`."""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import collections
import ctypes
import functools
import math
from collections.abc import Callable

import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from ..libdevice import call_libdevice, signatures
from ..names import VECTORS
from .bits import cast_all
from .checks import kinds_in, parts
from .thread import returning


@functools.cache
def vector_type(path):
    """Numba type of `cuda.<path>`, a name in `VECTORS`."""
    name = VECTORS[path]
    kind, _, count = name.rpartition("x")
    fields = collections.namedtuple(name, list("xyzw"[: int(count)]))
    return types.NamedUniTuple(getattr(types, kind), int(count), fields)


@functools.cache
def vector_maker(path):
    """An intrinsic from a tuple of numbers and shorter vectors to a vector."""
    kind = vector_type(path)

    @intrinsic
    def make(typing_context, values):
        count = sum(len(kinds_in(value)) for value in values)
        if count != len(kind):
            raise TypingError(f"cuda.{path} takes {len(kind)} numbers, not {count}")

        def generate(context, builder, signature_, arguments):
            found = []
            for given, value in zip(values, parts(builder, values, arguments[0]), strict=True):
                members = parts(builder, given, value)
                found += cast_all(context, builder, members, kinds_in(given), kind.dtype)
            return context.make_tuple(builder, kind, found)

        return signature(kind, values), generate

    return make


# ---------------------------------------------------------------- libdevice


# Without the f at the end of those in single precision.
BY_MATH: dict[str, Callable] = {
    name: getattr(math, name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos",
        "cosh", "exp", "expm1", "fabs", "floor", "hypot", "log", "log10", "log1p", "pow", "sin",
        "sinh", "sqrt", "tan", "tanh",
    )
}  # fmt: skip


def by_math(name: str) -> Callable | None:
    """The function of `math` that libdevice's function of this name is; None if there is none."""
    name = name.removeprefix("fast_")
    return BY_MATH.get(name) or BY_MATH.get(name.removesuffix("f"))


# The same bits, read as another type. A call of Python for each would take 70 times as long.
SAME_BITS = (
    "float_as_int", "float_as_uint", "int_as_float", "uint_as_float", "double_as_longlong",
    "longlong_as_double",
)  # fmt: skip


@functools.cache
def by_bits(name: str) -> Callable | None:
    """An intrinsic for the functions of `SAME_BITS`; None for others."""
    if name not in SAME_BITS:
        return None
    (result,) = types_of(name)[1]

    @returning(result)
    def cast(context, builder, value):
        return builder.bitcast(value, context.get_value_type(result))

    return cast


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
