"""Functions of single numbers: `popc`, `fma`, `cbrt`, `math.fmod`, ..."""

# Numba calls these functions while it compiles: their types are Numba's.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import intrinsic, overload

from .thread import i32, lane_of, returning

i1 = ir.IntType(1)


def whole_number(name, kind):
    """The type of a whole number without its value. Raises `TypingError` for other types."""
    kind = types.unliteral(kind)
    if not isinstance(kind, types.Integer):
        raise TypingError(f"cuda.{name} takes whole numbers, not {kind}")
    return kind


def of_bits(name, returned, compute):
    """An intrinsic of one whole number.

    returned: type of the argument -> (type it is converted to, type of the result).
    compute: (builder, number) -> LLVM value, still as wide as the number.
    """

    @intrinsic
    def function(typing_context, value):
        given, result = returned(whole_number(name, value))

        def generate(context, builder, signature_, arguments):
            number = context.cast(builder, arguments[0], signature_.args[0], given)
            return context.cast(builder, compute(builder, number), given, result)

        return signature(result, value), generate

    return function


def first_set(builder, number):
    """The place of the lowest bit that is set, counted from 1; 0 if there is none."""
    place = builder.add(builder.cttz(number, i1(0)), number.type(1))
    is_zero = builder.icmp_unsigned("==", number, number.type(0))
    return builder.select(is_zero, number.type(0), place)


def of_same_type(kind):
    return kind, kind


def as_unsigned(kind):
    unsigned = types.uint64 if kind.bitwidth > 32 else types.uint32
    return unsigned, unsigned


def cast_all(context, builder, values, kinds, wanted):
    """The values, of these kinds of Numba's, as another kind."""
    pairs = zip(values, kinds, strict=True)
    return [context.cast(builder, value, kind, wanted) for value, kind in pairs]


@intrinsic
def fused_multiply_add(typing_context, a, b, c):
    kinds = [types.unliteral(kind) for kind in (a, b, c)]
    kind = types.float32 if set(kinds) == {types.float32} else types.float64

    def generate(context, builder, signature_, arguments):
        return builder.fma(*cast_all(context, builder, arguments, signature_.args, kind))

    return signature(kind, a, b, c), generate


def by_types(choose):
    """A function of compiled code alone: the one that `choose` gives for the arguments' types."""

    def function(*arguments):
        """Never called."""

    overload(function)(choose)
    return function


@by_types
def cube_root(x):
    """`cuda.cbrt`"""
    kind = types.float32 if types.unliteral(x) == types.float32 else types.float64
    convert = types.float64

    def root(x):
        value = convert(x)
        if value == 0 or math.isinf(value) or math.isnan(value):
            return kind(value)
        guess = math.copysign(math.pow(math.fabs(value), 1 / 3), value)
        # One of Newton's steps: `pow` is off in the last digits.
        return kind(guess - (guess * guess * guess - value) / (3 * guess * guess))

    return root


@by_types
def round_to(x, digits):
    """`round(x, digits)` as on a GPU: in double precision, half to even."""
    if not isinstance(x, types.Float):
        return lambda x, digits: round(x, digits)
    kind = types.unliteral(x)

    def rounded(x, digits):
        value = types.float64(x)
        scale = 10.0 ** min(abs(digits), 22)
        rest = 10.0 ** max(abs(digits) - 22, 0)
        scaled = (value * rest) * scale if digits >= 0 else value / (scale * rest)
        if math.isinf(scaled) or math.isnan(scaled):
            return x
        whole = np.rint(scaled)
        return kind((whole / scale) / rest if digits >= 0 else whole * (scale * rest))

    return rounded


@intrinsic
def select(typing_context, condition, a, b):
    """`cuda.selp`: a if the condition holds, else b."""
    kind = typing_context.unify_types(types.unliteral(a), types.unliteral(b))
    if kind is None:
        raise TypingError(f"cuda.selp of {a} and {b}")

    def generate(context, builder, signature_, arguments):
        chosen = context.is_true(builder, signature_.args[0], arguments[0])
        values = cast_all(context, builder, arguments[1:], signature_.args[1:], kind)
        return builder.select(chosen, *values)

    return signature(kind, condition, a, b), generate


@returning(types.uint32)
def lanes_below(context, builder, thread):
    """`cuda.lanemask_lt`: a bit for each lane before one's own."""
    return builder.sub(builder.shl(i32(1), lane_of(builder, thread)), i32(1))


FUNCTIONS = {
    "popc": of_bits("popc", of_same_type, lambda builder, number: builder.ctpop(number)),
    "clz": of_bits("clz", of_same_type, lambda builder, number: builder.ctlz(number, i1(0))),
    "ffs": of_bits("ffs", lambda kind: (kind, types.uint32), first_set),
    "brev": of_bits("brev", as_unsigned, lambda builder, number: builder.bitreverse(number)),
    "fma": fused_multiply_add,
    "cbrt": cube_root,
    "selp": select,
}
NAMES = {**FUNCTIONS, "lanes_below": lanes_below, "round_to": round_to}


# ---------------------------------------------------------------- remainders


def kind_of(*given):
    """The type that these functions compute with: single precision only if all numbers are."""
    kinds = {types.unliteral(kind) for kind in given}
    return types.float32 if kinds <= {types.float32, types.float16} else types.float64


@intrinsic
def remainder_like_c(typing_context, x, y):
    """`math.fmod`: what is left of x after whole multiples of y; its sign is that of x."""
    kind = kind_of(x, y)

    def generate(context, builder, signature_, arguments):
        return builder.frem(*cast_all(context, builder, arguments, signature_.args, kind))

    return signature(kind, x, y), generate


@by_types
def fraction_and_whole(x):
    """`math.modf`"""
    kind = kind_of(x)

    def parts(x):
        value = kind(x)
        if math.isinf(value):
            return kind(math.copysign(0.0, value)), value
        whole = kind(np.trunc(value))
        return kind(math.copysign(value - whole, value)), whole

    return parts


@by_types
def nearest_remainder(x, y):
    """`math.remainder`: x minus the nearest whole multiple of y."""
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


REMAINDERS: dict[object, Callable] = {
    math.fmod: remainder_like_c,
    math.modf: fraction_and_whole,
    math.remainder: nearest_remainder,
}
