"""`math.fmod`, `math.modf` and `math.remainder`, which Numba has for GPUs only."""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import math
from collections.abc import Callable

import numpy as np
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic, overload


def kind_of(*given):
    """The type that these functions compute with: single precision only if all numbers are."""
    kinds = {types.unliteral(kind) for kind in given}
    return types.float32 if kinds <= {types.float32, types.float16} else types.float64


@intrinsic
def remainder_like_c(typing_context, x, y):
    """`math.fmod`: what is left of x after whole multiples of y; its sign is that of x."""
    kind = kind_of(x, y)

    def generate(context, builder, signature_, arguments):
        values = zip(arguments, signature_.args, strict=True)
        return builder.frem(*[context.cast(builder, value, given, kind) for value, given in values])

    return signature(kind, x, y), generate


def fraction_and_whole(x):
    """`math.modf`. Compiled code only."""


@overload(fraction_and_whole)
def overload_fraction_and_whole(x):
    kind = kind_of(x)

    def parts(x):
        value = kind(x)
        if math.isinf(value):
            return kind(math.copysign(0.0, value)), value
        whole = kind(np.trunc(value))
        return kind(math.copysign(value - whole, value)), whole

    return parts


def nearest_remainder(x, y):
    """`math.remainder`: x minus the nearest whole multiple of y. Compiled code only."""


@overload(nearest_remainder)
def overload_nearest_remainder(x, y):
    kind = kind_of(x, y)

    def remainder(x, y):
        rest, size = kind(math.fabs(kind(x))), kind(math.fabs(kind(y)))
        if math.isinf(rest) or size == 0:
            return kind(np.nan)
        if not math.isinf(size + size):
            rest = kind(remainder_like_c(rest, size + size))
        if rest > size - rest:
            rest -= size
            if rest >= size - rest:
                rest -= size
        return kind(math.copysign(rest, x)) if rest >= 0 else kind(-math.copysign(rest, x))

    return remainder


FUNCTIONS: dict[object, Callable] = {
    math.fmod: remainder_like_c,
    math.modf: fraction_and_whole,
    math.remainder: nearest_remainder,
}
